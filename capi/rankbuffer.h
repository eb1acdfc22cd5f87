/*
 * rankbuffer.h - the C ABI of RankBuffer, version 1.
 *
 * RankBuffer turns a group of responses to one query into rewards: a judge
 * places each response on the query's ladder of anchors, and the ladder learns
 * from what it saw. This header is the whole contract; what the JSON documents
 * contain is described beside each call.
 *
 *     rb_handle scorer;
 *     char *result;
 *     if (rb_scorer_new("{\"judge\": {...}}", &scorer) != RB_OK)
 *         die(rb_last_error());
 *     if (rb_score_group(scorer, "{\"query_id\": \"q1\", ...}", &result) == RB_OK) {
 *         puts(result);
 *         rb_free(result);
 *     }
 *     rb_scorer_close(scorer, 5000);
 *
 * THE PROCESS
 *
 *   - Linux with glibc, x86_64 or aarch64. Link with -pthread on glibc < 2.34.
 *   - Load the library when it is first needed and never unload it. Its threads
 *     live as long as the process; dlclose() is accepted and does nothing.
 *   - Do not fork a process that has loaded it: the library's threads are not
 *     in the child. There, every call that returns a code returns RB_ERR_FORKED
 *     and touches nothing, so the parent is safe from its children. Fork first
 *     and load in the child, or fork and exec, and all is well.
 *   - The library's own threads block every signal but those of faults, timers
 *     for profiling and Go's own. The host's other handlers never run on them, and
 *     a peer that hangs up cannot kill the process, whatever the host does with
 *     SIGPIPE.
 *   - SIGSEGV, SIGBUS and SIGFPE handlers are chained: install yours (Python's
 *     faulthandler included) before loading. Installed later, they turn an
 *     internal error that would have been RB_ERR_PANIC into a crash.
 *   - Nothing is written to the standard streams.
 *   - The environment is the one the process had when it loaded the library; a
 *     later setenv is not seen. Read of it are the variable that a config names
 *     with "api_key_env", and SSL_CERT_FILE and SSL_CERT_DIR.
 *
 * THREADS
 *
 *   Every function may be called from every thread, and any two calls may
 *   overlap, on the same handle too. Calls marked "does not block" do no I/O and
 *   wait for no judge; the others are marked with what they wait for.
 *
 * CLOSING
 *
 *   rb_scorer_close and rb_sim_stop make the handle invalid at once: every later
 *   call on it is refused with RB_ERR_HANDLE, and so is a second close. Work in
 *   flight is cancelled and waited for until the deadline. A group cut off by a
 *   close changes no buffer.
 *
 * RETURN CODES
 *
 *   int32_t results are RB_OK or one of the negative codes below; then the text
 *   is in rb_last_error() of the same thread, and every output is 0 or NULL. A
 *   call that failed changed nothing. Any call that returns a code can return
 *   RB_ERR_FORKED or RB_ERR_PANIC, any that takes a handle RB_ERR_HANDLE, and any
 *   that takes a pointer RB_ERR_INVALID (NULL, or text that is not UTF-8): these
 *   are not repeated below.
 *
 * MEMORY
 *
 *   Inputs are borrowed for the call and copied. Outputs (char **out) belong to
 *   the caller, who frees them with rb_free. Text is NUL-terminated UTF-8.
 *
 * JSON
 *
 *   Unknown fields are refused, naming the field. Absent means the default.
 */
#ifndef RANKBUFFER_H
#define RANKBUFFER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this contract. It grows when something here changes meaning;
 * additions do not change it. Compare with rb_abi_version() after loading. */
#define RB_ABI_VERSION 1

/* A scorer or a simulated judge. Never reused; 0 is no handle. */
typedef uint64_t rb_handle;

/* A group in flight, within its scorer. Never reused; 0 is no ticket. */
typedef uint64_t rb_ticket;

enum {
    RB_OK = 0,
    RB_ERR_INVALID = -1,    /* bad input; the text names the field and what to do */
    RB_ERR_HANDLE = -2,     /* unknown or closed handle, or unknown ticket */
    RB_ERR_STALE = -3,      /* the group's update has been applied or overtaken */
    RB_ERR_CONFLICT = -4,   /* known query id, other content */
    RB_ERR_NOT_FOUND = -5,  /* no such query, in the scorer or the checkpoint */
    RB_ERR_BUSY = -6,       /* a limit is reached, or work outlived a deadline */
    RB_ERR_IO = -7,         /* the file system or the network refused */
    RB_ERR_CHECKPOINT = -8, /* truncated, corrupt, newer or foreign checkpoint */
    RB_ERR_FORKED = -9,     /* the process forked after loading the library */
    RB_ERR_PANIC = -10,     /* a bug in the library, contained; please report it */
    RB_ERR_JUDGE = -11,     /* the judge failed and "on_failure" is "raise" */
    RB_ERR_CANCELLED = -12  /* the group was given up and "on_failure" is "raise" */
};

/* ------------------------------------------------------------- the library */

/* The contract this library implements: compare it with RB_ABI_VERSION and
 * refuse to go on when they differ.
 * Never fails. Does not block; works in a forked child. Since 1. */
uint32_t rb_abi_version(void);

/* The release, "0.1.0" for one. Static, not to be freed.
 * Never fails. Does not block; works in a forked child. Since 1. */
const char *rb_version(void);

/* What the last failed call of this thread has to say, or "". Success leaves it
 * alone. Belongs to the library and is valid until this thread's next call;
 * texts over 4,000 bytes are cut.
 * Does not block; works in a forked child. Since 1. */
const char *rb_last_error(void);

/* Free an output of this library. NULL is fine.
 * Does not block; works in a forked child. Since 1. */
void rb_free(void *text);

/* How many handles are live, those still closing included: a test that ends at
 * 0 leaked none. Does not block. Since 1. */
int32_t rb_handles_open(void);

/* -------------------------------------------------------------- the scorer */

/* Create a scorer: one method, one judge, and a buffer for each query.
 *
 *   config  {"method": {"name": "rankbuffer", options...},
 *            "judge": {"base_url", "model", ...} or {"type": "simulated", ...},
 *            "seed": 0, "on_failure": "mean"|"neutral"|"raise",
 *            "reasoning": {"open": "<think>", "close": "</think>"} | null,
 *            "prompts": {"coarse": "/path/to/template", ...},
 *            "max_response_bytes", "max_group_size", "max_groups"}
 *   out     the handle, to be closed with rb_scorer_close
 *
 * Reads the template files; sends nothing to the judge.
 * RB_ERR_INVALID: unknown or unusable field, a missing key variable, a template
 * that lacks a variable. RB_ERR_IO: a template cannot be read, or the process
 * is out of file descriptors. Since 1. */
int32_t rb_scorer_new(const char *config, rb_handle *out);

/* Check a scorer's configuration, and queries that it shall score, before a run.
 *
 *   document  a JSON object:
 *     config   the configuration, as in rb_scorer_new
 *     queries  optional, a list of objects:
 *       query_id, query, rubrics, ranked   as in rb_buffer_create
 *       reference                          as in rb_score_submit
 *
 * The call fails with the first error that rb_scorer_new or, for a group of one of
 * the queries, rb_score_submit would fail with. An error about a query names its
 * index: the "field" is "queries[3].ranked". The call reads the template files of
 * "prompts". It asks no judge and keeps nothing.
 * RB_ERR_INVALID, RB_ERR_CONFLICT, RB_ERR_IO: as in those functions.
 * Does not wait for a judge. Since 1. */
int32_t rb_check(const char *document);

/* Read the prompt template that ships for a kind of judge call, to start one's
 * own from and name it under "prompts".
 *
 *   kind  "coarse", "coarse_order", "fine", "manager", "score", "rubric_score",
 *         "pair", "match", "select", "preference", "reasoned", "label", "rubrics"
 *   out   its text, not JSON; {{name}} stands for what each call fills in
 *
 * RB_ERR_INVALID: no such kind. Does not block. Since 1. */
int32_t rb_prompt_template(const char *kind, char **out);

/* Close a scorer: cancel the groups in flight, let calls on other threads
 * return, close the event descriptor.
 *
 *   deadline_ms  how long to wait for that; 0: for a moment only, in which a
 *                scorer with nothing in flight closes; negative: for ever
 *
 * The event descriptor becomes readable first, so that a thread waiting on it
 * wakes, calls rb_poll and gets RB_ERR_HANDLE. Take it out of an event loop
 * before closing: its number may be used again afterwards.
 * RB_ERR_BUSY: something was still in flight at the deadline. The handle is
 * invalid all the same and the rest is finished in the background. Since 1. */
int32_t rb_scorer_close(rb_handle scorer, int64_t deadline_ms);

/* Count what the scorer did so far.
 *
 *   out  {"method", "queries", "in_flight", "groups": by status, "judge": by kind
 *        of call, requests tried, succeeded, retried and failed, tokens, latency
 *        quantiles; "steps": by training step}
 *
 * Does not block. Since 1. */
int32_t rb_stats(rb_handle scorer, char **out);

/* Ask every endpoint of the judge once whether it can be reached, takes the key
 * and serves the model, so that a run fails at its start. A simulated judge
 * always passes.
 *
 *   deadline_ms  how long that may take; negative: the judge's own timeout alone
 *
 * RB_ERR_JUDGE: what is wrong, and where. Waits for the judge. Since 1. */
int32_t rb_judge_check(rb_handle scorer, int64_t deadline_ms);

/* ----------------------------------------------------------------- buffers */

/* Make a query known, and start its buffer when ranked responses are given.
 *
 *   query  {"query_id", "query": text or [{"role", "content"}],
 *           "rubrics"?: [{"text", "weight": 1}], "ranked"?: [best first]}
 *
 * Does nothing for a known query with the same content.
 * RB_ERR_INVALID: a field cannot be used. RB_ERR_CONFLICT: known query id, other
 * content. Does not block. Since 1. */
int32_t rb_buffer_create(rb_handle scorer, const char *query);

/* Read one query's buffer as it is now.
 *
 *   out  {"query_id", "query", "rubrics", "initial", "epochs_seen",
 *         "anchors": [{"text", "source", "epoch", "step", "inactive"}]}, the
 *        anchors worst first
 *
 * RB_ERR_NOT_FOUND: unknown query. Does not block. Since 1. */
int32_t rb_buffer_get(rb_handle scorer, const char *query_id, char **out);

/* Apply the maintenance of a group that was scored with "update": false.
 *
 *   group_id  from the group's result
 *
 * RB_ERR_STALE: no such group waits for its update: it was applied, the buffer
 * has changed since the group was scored, or it was never scored that way.
 * RB_ERR_BUSY: other groups of the query are in flight.
 * Waits for the disk if there is a journal. Since 1. */
int32_t rb_update(rb_handle scorer, const char *group_id);

/* Have the judge write rubrics for a query from its ranked responses. Changes
 * nothing: give them back with the query to use them.
 *
 *   query  as in rb_buffer_create, ranked responses needed
 *   out    [{"text", "weight"}], 3 to 5 of them
 *
 * RB_ERR_JUDGE: the judge failed, or wrote none that can be used.
 * RB_ERR_CANCELLED: the scorer was closed meanwhile. Waits for the judge. Since 1. */
int32_t rb_rubrics_write(rb_handle scorer, const char *query, char **out);

/* ----------------------------------------------- scoring: submit, then poll */

/* Hand over a group and return at once. Its result comes out of rb_poll.
 *
 *   group  {"query_id", "query"?, "rubrics"?, "ranked"?, "reference"?,
 *           "responses": [text], "eligible"?: [bool], "format_scores"?: [0..1],
 *           "epoch"?, "step"?, "update": true, "validate": false,
 *           "deadline_ms"?, "idempotency_key"?, "after_checkpoint"?, "result_key"?}
 *   out    the ticket, good until its completion was polled
 *
 * Query, rubrics and ranked are needed the first time a query is seen, here or
 * in rb_buffer_create. Groups of one query take effect in the order they were
 * submitted or opened; others run side by side. A group whose tag, at most 256
 * bytes, was applied to its query before is scored and changes nothing; mark and
 * label, at most 512 bytes, are for the journal (rb_journal).
 * RB_ERR_INVALID, RB_ERR_CONFLICT: as in rb_buffer_create. RB_ERR_BUSY: too many
 * groups in flight; poll, then try again. Does not block. Since 1. */
int32_t rb_score_submit(rb_handle scorer, const char *group, rb_ticket *out);

/* Give up a group in flight. It completes soon: what was not judged yet has the
 * status "cancelled" (with "on_failure": "raise" the group ends with
 * RB_ERR_CANCELLED instead), and its buffer stays as it was. Does nothing for a
 * group that has completed.
 * RB_ERR_HANDLE: never given out. Does not block. Since 1. */
int32_t rb_cancel(rb_handle scorer, rb_ticket ticket);

/* The descriptor that is readable when completions wait for rb_poll: an eventfd,
 * non-blocking and close-on-exec, to be given to poll(2), epoll or an event
 * loop. It belongs to the scorer and closes with it; do not read it, rb_poll
 * does. Readable with nothing to poll happens and is harmless.
 * Does not block. Since 1. */
int32_t rb_event_fd(rb_handle scorer, int32_t *out);

/* Take every completion that is ready.
 *
 *   out  [{"ticket", "result": {...}} or {"ticket", "error": {"code", "message"}}]
 *        in order of completion; [] when none is ready
 *
 * A result: {"group_id", "query_id", "method", "rewards", "advantages", "ranks",
 * "positions", "progress", "status", "group_status", "anchors_before", "anchors",
 * "calls", "tokens", "latency_ms", "reward_std", "applied"}, lists in the order of the
 * responses; "detail" holds what only this method has to say, and "unjudged" in
 * it why nothing was asked and the rewards are 0. Each completion is handed out once: with several threads polling,
 * one of them gets it. Clears the event descriptor. Does not block. Since 1. */
int32_t rb_poll(rb_handle scorer, char **out);

/* ------------------------------------------------- scoring: wait for the end */

/* Score one group and wait for its result: submit, wait and poll in one call.
 * Its completion does not appear in rb_poll.
 *
 *   group  as in rb_score_submit
 *   out    the result, as in rb_poll
 *
 * A close of the scorer on another thread ends the wait as rb_cancel does.
 * RB_ERR_JUDGE, RB_ERR_CANCELLED: the judge failed, or the scorer was closed, and
 * "on_failure" is "raise". Others as in rb_score_submit.
 * Waits for the judge. Since 1. */
int32_t rb_score_group(rb_handle scorer, const char *group, char **out);

/* ------------------------------------- scoring: feed a group as it is written */

/* Open a group whose responses come one by one. Where the method can, a response
 * is judged as soon as it is there; the result is that of the whole group at
 * once. The group holds its query until it is closed or its deadline passes.
 *
 *   group     as in rb_score_submit, without "responses"
 *   expected  how many responses are to come, at least 1
 *   out       the ticket
 *
 * Return codes as in rb_score_submit. Does not block. Since 1. */
int32_t rb_group_open(rb_handle scorer, const char *group, int32_t expected, rb_ticket *out);

/* Feed one response of an open group.
 *
 *   index     its place, 0 <= index < expected; each place once, in any order
 *   response  a JSON string, or {"text", "eligible"?, "format_score"?}
 *
 * The group closes by itself with the last response expected.
 * RB_ERR_INVALID: place out of range or taken, or the response is over the limit.
 * RB_ERR_HANDLE: the response comes after the group was closed or its deadline has
 * passed, or the ticket was never given out. Does not block. Since 1. */
int32_t rb_group_add(rb_handle scorer, rb_ticket ticket, int32_t index, const char *response);

/* Close an open group with the responses that came; those that did not have the
 * status "cancelled", and such a group changes no buffer. Does nothing for a group
 * that has all its responses.
 * RB_ERR_HANDLE: never given out. Does not block. Since 1. */
int32_t rb_group_close(rb_handle scorer, rb_ticket ticket);

/* -------------------------------------------------------------- checkpoints */

/* Write every buffer to a file: a consistent point, each query before or after a
 * whole group. Scoring goes on meanwhile. The file is written beside its final
 * name, synced and renamed, so that a crash leaves the old one or the new one.
 * Equal buffers give equal bytes.
 *
 *   path  any bytes the file system takes; its directory must exist
 *
 * RB_ERR_IO: the file cannot be written. Waits for the disk. Since 1. */
int32_t rb_snapshot(rb_handle scorer, const char *path);

/* Replace every buffer by those of a file; on any error the scorer stays as it
 * was.
 * RB_ERR_BUSY: groups are in flight. RB_ERR_IO: the file cannot be read.
 * RB_ERR_CHECKPOINT: truncated, corrupt, written by a newer version or for another
 * method, or no checkpoint at all.
 * Waits for the disk. Since 1. */
int32_t rb_restore(rb_handle scorer, const char *path);

/* Write every later change of a buffer down in a file, a journal, before the
 * result of the group that made it is seen. What is written stays when the
 * process dies: a snapshot and the journal that goes on from it are the scorer.
 *
 *   path      a new file; NULL: stop writing. A journal open before is closed
 *   snapshot  also write the state from which the new journal goes on to this
 *             file, as rb_snapshot does; NULL: do not
 *
 * With a group that has a "label" its result is written too, so that the rewards
 * are not lost between the buffer's change and rb_poll: if its "group_status" is
 * "ok", whether or not the buffer had to change. Groups that end otherwise have
 * changed nothing and can be scored again; so can those with "validate": true or
 * "update": false, of which nothing is written here.
 *
 * What cannot be written later on fails no group; rb_stats counts it. After an
 * error the journal is the old one, or, if only the snapshot failed, both
 * journals together hold everything.
 * RB_ERR_IO: a file cannot be written, or path exists. Waits for the disk.
 * Since 1. */
int32_t rb_journal(rb_handle scorer, const char *path, const char *snapshot);

/* Replace every buffer by those of several files; like rb_restore.
 *
 *   sources  {"checkpoints": [path], "journals": [path, oldest first],
 *             "until"?: {"step": n} or {"mark": n},
 *             "shard"?: {"index", "count"}, "answers"?: n}
 *   out      {"queries", "entries", "skipped", "torn", "answered"}: queries now
 *            known, journal entries applied and left out, and whether a journal
 *            ended within an entry, as the death of its writer leaves it; then
 *            [{"label", "query_id", "result", "responses"}], the groups with a label
 *            whose entries were applied, in the order of the journals: the result
 *            byte for byte as rb_poll gave it or would have, and of each response the
 *            first 24 hex digits of the SHA-256 of its text as it was handed in;
 *            with "answers" the newest n alone
 *
 * "until" leaves out the groups of steps above n, those without a step if their
 * "mark" is not below n; or all groups whose "mark" is not below n. "shard" keeps
 * the queries whose id's CRC-32 modulo count is index. Errors as in rb_restore.
 * Waits for the disk. Since 1. */
int32_t rb_restore_from(rb_handle scorer, const char *sources, char **out);

/* Read a checkpoint without a scorer.
 *
 *   query_id  one query's buffer, without reading the others; NULL: a listing
 *   out       a buffer as in rb_buffer_get; or {"meta", "queries": [buffers]}
 *
 * RB_ERR_NOT_FOUND: the query is not in the file. RB_ERR_IO, RB_ERR_CHECKPOINT:
 * as in rb_restore. Waits for the disk. Since 1. */
int32_t rb_inspect(const char *path, const char *query_id, char **out);

/* --------------------------------------------------------- simulated judge */

/* Serve a simulated judge over HTTP, OpenAI-compatible, for demos and tests.
 *
 *   config  {"qualities": {text: number}, "sigma", "drift", "taste", "crowding",
 *            "position_bias", "latency_ms", "failure_rate", "malformed_rate",
 *            "seed", "host": "127.0.0.1", "port": 0}; port 0 picks a free one
 *   out     the handle, to be stopped with rb_sim_stop
 *
 * RB_ERR_INVALID: unknown or unusable field. RB_ERR_IO: the address cannot be
 * listened on. Does not block. Since 1. */
int32_t rb_sim_start(const char *config, rb_handle *out);

/* Where it listens, for a judge's "base_url": "http://127.0.0.1:40123/v1".
 * Does not block. Since 1. */
int32_t rb_sim_url(rb_handle sim, char **out);

/* Stop serving: close the listener, cut off requests in flight.
 * deadline_ms and RB_ERR_BUSY as in rb_scorer_close. Since 1. */
int32_t rb_sim_stop(rb_handle sim, int64_t deadline_ms);

#ifdef __cplusplus
}
#endif

#endif /* RANKBUFFER_H */
