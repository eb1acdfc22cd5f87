package fault

// Code names a kind of failure, the same in Go, C, Python, results and logs.
type Code string

// Error makes a code a target for errors.Is.
func (c Code) Error() string { return string(c) }

// The codes. README.md has one row for each, which a test holds.
const (
	// The caller's input.
	InvalidJSON     Code = "invalid_json"
	UnknownField    Code = "unknown_field"
	MissingField    Code = "missing_field"
	InvalidValue    Code = "invalid_value"
	QueryConflict   Code = "query_conflict"
	UnknownQuery    Code = "unknown_query"
	InvalidArgument Code = "invalid_argument" // of a C function: a null pointer, a bad handle type

	// The scorer and its groups.
	Closed       Code = "closed"
	UnknownGroup Code = "unknown_group"
	GroupEnded   Code = "group_ended"
	StaleUpdate  Code = "stale_update"
	Busy         Code = "busy"
	Cancelled    Code = "cancelled"
	GroupTimeout Code = "group_timeout"
	Missing      Code = "missing_responses"

	// Files.
	FileError         Code = "file_error"
	CheckpointDamaged Code = "checkpoint_damaged"
	CheckpointForeign Code = "checkpoint_foreign"
	CheckpointNewer   Code = "checkpoint_newer"
	CheckpointMethod  Code = "checkpoint_method"

	// The judge.
	JudgeUnreachable     Code = "judge_unreachable"
	JudgeUnauthorized    Code = "judge_unauthorized"
	JudgeModelNotFound   Code = "judge_model_not_found"
	JudgeWrongAddress    Code = "judge_wrong_address"
	JudgeContextOverflow Code = "judge_context_overflow"
	JudgeRateLimited     Code = "judge_rate_limited"
	JudgeNoQuota         Code = "judge_no_quota"
	JudgeRejected        Code = "judge_rejected_request"
	JudgeServerError     Code = "judge_server_error"
	JudgeTimeout         Code = "judge_timeout"
	JudgeTruncated       Code = "judge_truncated"
	JudgeEmpty           Code = "judge_empty"
	JudgeRefused         Code = "judge_refused"
	JudgeNoVerdict       Code = "judge_no_verdict"
	JudgeNoLogProbs      Code = "judge_no_logprobs"
	JudgeBadResponse     Code = "judge_bad_response"

	// The process.
	Forked   Code = "forked"
	Internal Code = "internal"
)

// The return codes of the C ABI (capi/rankbuffer.h).
const (
	StatusOK         int32 = 0
	StatusInvalid    int32 = -1
	StatusHandle     int32 = -2
	StatusStale      int32 = -3
	StatusConflict   int32 = -4
	StatusNotFound   int32 = -5
	StatusBusy       int32 = -6
	StatusFile       int32 = -7
	StatusCheckpoint int32 = -8
	StatusForked     int32 = -9
	StatusInternal   int32 = -10
	StatusJudge      int32 = -11
	StatusCancelled  int32 = -12
)

// Row is one code of the list: what the C ABI returns for it, and its summary.
type Row struct {
	Code    Code
	Status  int32
	Summary string
}

// Rows lists every code.
var Rows = []Row{
	{InvalidJSON, StatusInvalid, "this is not valid JSON"},
	{UnknownField, StatusInvalid, "this field is unknown"},
	{MissingField, StatusInvalid, "this field is needed and missing"},
	{InvalidValue, StatusInvalid, "this value cannot be used"},
	{QueryConflict, StatusConflict, "this query id was given other content before"},
	{UnknownQuery, StatusNotFound, "this query id is unknown"},
	{InvalidArgument, StatusInvalid, "an argument of the C function cannot be used"},
	{Closed, StatusHandle, "the scorer was closed, or the handle is unknown"},
	{UnknownGroup, StatusHandle, "no group has this ticket"},
	{GroupEnded, StatusHandle, "the group has ended"},
	{StaleUpdate, StatusStale, "the group has no update that still fits its buffer"},
	{Busy, StatusBusy, "a limit is reached, or other work is in flight"},
	{Cancelled, StatusCancelled, "the group was cancelled"},
	{GroupTimeout, StatusJudge, "the group's time ran out"},
	{Missing, StatusJudge, "not every expected response came"},
	{FileError, StatusFile, "a file could not be read or written"},
	{CheckpointDamaged, StatusCheckpoint, "the checkpoint is damaged or incomplete"},
	{CheckpointForeign, StatusCheckpoint, "the file is not a RankBuffer checkpoint"},
	{CheckpointNewer, StatusCheckpoint, "the checkpoint was written by a newer version"},
	{CheckpointMethod, StatusCheckpoint, "the checkpoint was written by another method"},
	{JudgeUnreachable, StatusJudge, "the judge cannot be reached"},
	{JudgeUnauthorized, StatusJudge, "the judge refused the API key"},
	{JudgeModelNotFound, StatusJudge, "the judge does not serve this model"},
	{JudgeWrongAddress, StatusJudge, "nothing answers at the path of judge.base_url"},
	{JudgeContextOverflow, StatusJudge, "the prompt is longer than the judge's context"},
	{JudgeRateLimited, StatusJudge, "the judge refused too many requests (429)"},
	{JudgeNoQuota, StatusJudge, "the judge's account has no quota left"},
	{JudgeRejected, StatusJudge, "the judge rejected the request"},
	{JudgeServerError, StatusJudge, "the judge reported an error of its own"},
	{JudgeTimeout, StatusJudge, "the judge did not answer in time"},
	{JudgeTruncated, StatusJudge, "the judge's answer was cut at its token limit"},
	{JudgeEmpty, StatusJudge, "the judge's answer was empty"},
	{JudgeRefused, StatusJudge, "the judge or its content filter refused to answer"},
	{JudgeNoVerdict, StatusJudge, "the judge's answer holds no usable verdict"},
	{JudgeNoLogProbs, StatusJudge, "the judge returns no token log-probabilities"},
	{JudgeBadResponse, StatusJudge, "the judge does not answer like an OpenAI-compatible server"},
	{Forked, StatusForked, "the process was forked after it had loaded the library"},
	{Internal, StatusInternal, "an internal error, please report it"},
}

// byCode is Rows for looking up.
var byCode = func() map[Code]Row {
	rows := make(map[Code]Row, len(Rows))
	for _, row := range Rows {
		rows[row.Code] = row
	}
	return rows
}()

// Status is what a C function returns for the code.
func (c Code) Status() int32 { return byCode[c].Status }

// Summary is the code in one clause.
func (c Code) Summary() string { return byCode[c].Summary }
