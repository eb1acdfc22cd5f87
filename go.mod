module github.com/rankbuffer/rankbuffer

go 1.26.0

require (
	github.com/klauspost/compress v1.20.4
	github.com/sashabaranov/go-openai v1.43.0
	go.uber.org/goleak v1.3.0
	golang.org/x/sync v0.25.0
)
