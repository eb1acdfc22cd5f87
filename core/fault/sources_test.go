package fault_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// coders says who gives a code to the errors that a directory or a file makes
// without one. An error that is made anywhere else carries its code from the start.
var coders = map[string]string{
	"core/fault":                   "it makes the coded ones",
	"core/checkpoint":              "about, for every exported function",
	"core/prompt/read.go":          "the simulated judge, which reads prompts",
	"core/prompt/template.go":      "prompt.Load",
	"core/judge/ask.go":            "judge.Ask",
	"core/judge/text.go":           "judge.Ask",
	"core/judge/verdict":           "judge.Ask, as judge_no_verdict",
	"core/judge/options/decode.go": "strict, as invalid_value",
	"core/judge/openai":            "the client, by the status of the response",
	"core/judge/sim":               "the server of the simulated judge, as an HTTP status",
	"core/engine/restore.go":       "it is within a fault.Error",
}

// An error without a code would reach the C ABI as internal.
func TestErrorsAreMadeWithACode(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, dir := range []string{"core", "capi"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil || coders[name] != "" || coders[filepath.Dir(name)] != "" {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && makesUncoded(call) {
					t.Errorf("%s makes an error without a code: use fault.New, or say in coders who gives it one", files.Position(n.Pos()))
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// makesUncoded finds errors.New, and fmt.Errorf that wraps no other error.
func makesUncoded(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return false
	}
	pkg, ok := f.X.(*ast.Ident)
	if !ok {
		return false
	}
	switch pkg.Name + "." + f.Sel.Name {
	case "errors.New":
		return true
	case "fmt.Errorf":
		format, ok := call.Args[0].(*ast.BasicLit)
		return ok && !strings.Contains(format.Value, "%w")
	}
	return false
}
