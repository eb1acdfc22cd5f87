/*
 * rankbuffer.h - the C ABI of RankBuffer, version 1.
 *
 * RankBuffer turns a group of responses to one query into rewards. A judge (an
 * LLM) compares the responses with the query's buffer, an ordered list of anchors,
 * and the buffer grows with what the policy writes. This header is the whole
 * contract. Documents are JSON; each function lists the fields of its documents.
 *
 *     rb_handle scorer;
 *     char *result;
 *     if (rb_scorer_new("{\"method\": {...}, \"judge\": {...}}", &scorer) != RB_OK)
 *         die(rb_last_error());
 *     if (rb_score_group(scorer, "{\"query_id\": \"q1\", ...}", &result) == RB_OK) {
 *         puts(result);
 *         rb_free(result);
 *     }
 *     rb_scorer_close(scorer, 5000);
 *
 * THE PROCESS
 *
 *   - The library runs on Linux with glibc, on x86_64 and aarch64. Link with
 *     -pthread on glibc < 2.34.
 *   - Load the library when it is first needed. Its threads live as long as the
 *     process: dlclose() is accepted and does nothing.
 *   - Do not fork a process that has loaded the library, because a child has none
 *     of its threads. In such a child every call that returns a code returns
 *     RB_ERR_FORKED. Fork first and load the library in the child, or fork and exec.
 *   - The library's threads block every signal except those of faults, of profiling
 *     timers and of Go's scheduler. Your other signal handlers never run on them, and
 *     a closed connection raises no SIGPIPE in your process.
 *   - The library chains SIGSEGV, SIGBUS and SIGFPE handlers. Install yours (such as
 *     Python's faulthandler) before you load the library. A handler that is installed
 *     later turns an internal error into a crash.
 *   - The library writes nothing to the standard streams.
 *   - The library sees the environment as it was when it was loaded. It reads the
 *     variable that "judge.api_key_env" names, SSL_CERT_FILE and SSL_CERT_DIR.
 *
 * THREADS
 *
 *   You may call every function from every thread, and several at once, also on one
 *   handle. A function that is marked "Does not block" does no I/O and waits for no
 *   judge. The others say what they wait for.
 *
 * CLOSING
 *
 *   rb_scorer_close and rb_sim_stop make their handle invalid at once. Every later
 *   call on it returns RB_ERR_HANDLE, a second close as well. They cancel the work in
 *   flight and wait for it until their deadline. A group that is cancelled this way
 *   changes no buffer.
 *
 * ERRORS
 *
 *   An int32_t result is RB_OK or one of the negative codes below. After a negative
 *   code rb_last_error() of the same thread describes the error, every output is 0 or
 *   NULL, and the call has changed nothing. These codes are not repeated below:
 *     RB_ERR_FORKED, RB_ERR_PANIC   every call can return them
 *     RB_ERR_HANDLE                 every call that takes a handle
 *     RB_ERR_INVALID                every call that takes a pointer: for NULL, for
 *                                   text that is not UTF-8, and for a document that
 *                                   is not JSON or has an unknown or a wrong field
 *
 * MEMORY
 *
 *   The library copies its inputs. An output (char **out) belongs to the caller, who
 *   frees it with rb_free. Text is NUL-terminated UTF-8.
 *
 * JSON
 *
 *   The names of fields match exactly, case included; an unknown field is an error.
 *   A field that is marked "optional" may be left out. Several optional fields have
 *   their default beside them.
 */
#ifndef RANKBUFFER_H
#define RANKBUFFER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this contract. It grows when something here changes its meaning;
 * additions do not change it. Compare it with rb_abi_version() after loading. */
#define RB_ABI_VERSION 1

/* A scorer or a simulated judge. A handle is never used again; 0 is no handle. */
typedef uint64_t rb_handle;

/* A group in flight, within its scorer. A ticket is never used again; 0 is none. */
typedef uint64_t rb_ticket;

enum {
    RB_OK = 0,
    RB_ERR_INVALID = -1,    /* the input is wrong; the error names the field */
    RB_ERR_HANDLE = -2,     /* the handle is unknown or closed, or the ticket unknown */
    RB_ERR_STALE = -3,      /* the group has no update that still fits its buffer */
    RB_ERR_CONFLICT = -4,   /* the query id is known with other content */
    RB_ERR_NOT_FOUND = -5,  /* no such query in the scorer or the checkpoint */
    RB_ERR_BUSY = -6,       /* a limit is reached, or other work is in flight */
    RB_ERR_IO = -7,         /* the file system or the network refused */
    RB_ERR_CHECKPOINT = -8, /* the checkpoint is damaged, newer or of another method */
    RB_ERR_FORKED = -9,     /* the process was forked after it had loaded the library */
    RB_ERR_PANIC = -10,     /* a bug in the library, contained; please report it */
    RB_ERR_JUDGE = -11,     /* the judge failed, and "on_failure" is "raise" */
    RB_ERR_CANCELLED = -12  /* the group was cancelled, and "on_failure" is "raise" */
};

/* ------------------------------------------------------------- the library */

/* Return the version of the contract that this library implements. If it is not
 * RB_ABI_VERSION, do not use the library.
 * Never fails. Does not block; works in a forked child. Since 1. */
uint32_t rb_abi_version(void);

/* Return the release, such as "0.1.0". The text is static: do not free it.
 * Never fails. Does not block; works in a forked child. Since 1. */
const char *rb_version(void);

/* Describe the last failed call of this thread; "" if none failed. A call that
 * succeeds leaves it as it is. The text belongs to the library and is valid until
 * this thread's next call. It is a JSON object:
 *
 *   code     the kind of failure, such as "judge_unauthorized": one of the list in
 *            core/fault/README.md
 *   status   the return code of the call, such as -11
 *   summary  one sentence that is safe to log: it quotes no response, no judge and no
 *            file
 *   message  the full text, at most 4,000 bytes
 *   field    optional: the field that is wrong, such as "method.rankbuffer.k0"
 *   file     optional: the file that the error is about
 *   line     optional: its line, from 1
 *
 * Does not block; works in a forked child. Since 1. */
const char *rb_last_error(void);

/* Free an output of this library. NULL is fine.
 * Does not block; works in a forked child. Since 1. */
void rb_free(void *text);

/* Count the live handles, including those that are still closing. A test that ends
 * with 0 has leaked none. Does not block. Since 1. */
int32_t rb_handles_open(void);

/* -------------------------------------------------------------- the scorer */

/* Create a scorer. It has one method and one judge, and keeps a buffer for each query.
 *
 *   config  a JSON object:
 *     method              {"name": "rankbuffer", ...}: the name of the reward method
 *                         and its options
 *     judge               {"base_url", "model", ...}, or {"type": "simulated", ...}
 *     seed                optional, 0: of presentation orders and votes
 *     on_failure          optional, "mean": what a failed response is rewarded with.
 *                         "mean" is the mean reward of the others, "neutral" rewards
 *                         the whole group 0, "raise" makes the group fail
 *     advantage           optional, "grpo"; "dr_grpo" does not divide by the std
 *     reasoning           optional, {"open": "<think>", "close": "</think>"}: what is
 *                         between the tags is hidden from the judge; null hides nothing
 *     prompts             optional, {kind: path}: your own prompt templates
 *     max_response_bytes  optional, 4 MiB
 *     max_group_size      optional, 4096 responses
 *     max_groups          optional, 65536 groups in flight
 *   out     the handle; close it with rb_scorer_close
 *
 * The call reads the template files. It sends nothing to the judge.
 * RB_ERR_IO: the process is out of file descriptors. Since 1. */
int32_t rb_scorer_new(const char *config, rb_handle *out);

/* Check a configuration, and queries that are to be scored, before a run.
 *
 *   document  a JSON object:
 *     config   the configuration, as in rb_scorer_new
 *     queries  optional, a list of objects:
 *       query_id, query, rubrics, ranked   as in rb_buffer_create
 *       reference                          as in rb_score_submit
 *
 * The call fails with the first error of rb_scorer_new, or of rb_score_submit for a
 * group of one of the queries. An error about a query names its index: the "field" is
 * "queries[3].ranked". The call reads the template files, asks no judge and keeps
 * nothing.
 * RB_ERR_CONFLICT: a query id is there twice with different content. Since 1. */
int32_t rb_check(const char *document);

/* Read the prompt template that ships with the library for one kind of judge call.
 * Start from it to write your own, and name its file under "prompts".
 *
 *   kind  "coarse", "coarse_order", "fine", "manager", "score", "rubric_score",
 *         "pair", "match", "select", "preference", "reasoned", "label" or "rubrics"
 *   out   the template as plain text; each call replaces {{name}}
 *
 * Does not block. Since 1. */
int32_t rb_prompt_template(const char *kind, char **out);

/* Close a scorer: cancel the groups in flight, wait for calls on other threads to
 * return, and close the event descriptor.
 *
 *   deadline_ms  how long to wait for that. 0 waits a moment, which is enough if
 *                nothing is in flight. A negative value waits without a limit
 *
 * The event descriptor becomes readable first: a thread that waits for it wakes, calls
 * rb_poll and gets RB_ERR_HANDLE. Remove the descriptor from event loops before you
 * close the scorer, because the system may use its number again.
 * RB_ERR_BUSY: something was still in flight at the deadline. The handle is invalid,
 * and the close goes on in the background. Since 1. */
int32_t rb_scorer_close(rb_handle scorer, int64_t deadline_ms);

/* Report what the scorer has done so far.
 *
 *   out  a JSON object:
 *     method     the name of the method
 *     queries    number of known queries
 *     in_flight  number of groups in flight
 *     groups     {status: number of groups that ended with it}
 *     judge      {"kinds": {kind: counts}, "total": counts}; counts are attempts
 *                ("tried", "succeeded", "retried", "failed"), tokens and quantiles of
 *                the latency
 *     steps      for each of the newest 1,024 training steps {"step", "groups",
 *                "zero_spread_share": the share of groups with equal rewards}
 *     warnings   optional: options that are likely a mistake with this judge
 *     journal    optional, {"entries", "bytes", "errors", "last_error"}: of the
 *                journal that is being written
 *
 * Does not block. Since 1. */
int32_t rb_stats(rb_handle scorer, char **out);

/* Ask every endpoint of the judge once whether it can be reached, accepts the key and
 * serves the model. A simulated judge always passes.
 *
 *   deadline_ms  how long that may take; a negative value: "judge.timeout" alone
 *
 * RB_ERR_JUDGE: an endpoint did not pass. Waits for the judge. Since 1. */
int32_t rb_judge_check(rb_handle scorer, int64_t deadline_ms);

/* ----------------------------------------------------------------- buffers */

/* Make a query known. If it has ranked responses, its buffer starts with them. A query
 * that is known with the same content stays as it is.
 *
 *   query  a JSON object:
 *     query_id  a text that identifies the query
 *     query     a text, or a list of chat messages {"role", "content"}
 *     rubrics   optional, a list of {"text", "weight": 1}
 *     ranked    optional, a list of at least 2 responses, the best first
 *
 * RB_ERR_CONFLICT: the query id is known with other content.
 * Does not block. Since 1. */
int32_t rb_buffer_create(rb_handle scorer, const char *query);

/* Read the buffer of a query.
 *
 *   out  a JSON object:
 *     query_id, query, rubrics  as given
 *     initial                   number of anchors the buffer started with
 *     epochs_seen               list of epochs
 *     anchors                   list of {"text", "source", "epoch", "step",
 *                               "inactive"}, the worst first
 *
 * RB_ERR_NOT_FOUND: the query is unknown. Does not block. Since 1. */
int32_t rb_buffer_get(rb_handle scorer, const char *query_id, char **out);

/* Apply the buffer update of a group that was scored with "update": false.
 *
 *   group_id  from the group's result
 *
 * RB_ERR_STALE: the group has no update that still fits. It was applied before, or the
 * buffer has changed since the group was scored, or the group was not scored with
 * "update": false.
 * RB_ERR_BUSY: other groups of the query are in flight.
 * Waits for the disk if a journal is open. Since 1. */
int32_t rb_update(rb_handle scorer, const char *group_id);

/* Let the judge write rubrics for a query from its ranked responses. The call changes
 * nothing: to use the rubrics, give them with the query.
 *
 *   query  as in rb_buffer_create; "ranked" is needed
 *   out    a list of 3 to 5 {"text", "weight"}
 *
 * RB_ERR_JUDGE: the judge failed, or wrote no usable rubrics.
 * RB_ERR_CANCELLED: the scorer was closed meanwhile. Waits for the judge. Since 1. */
int32_t rb_rubrics_write(rb_handle scorer, const char *query, char **out);

/* ----------------------------------------------- scoring: submit, then poll */

/* Submit a group and return at once. rb_poll returns its result.
 *
 *   group  a JSON object:
 *     query_id          the query
 *     query, rubrics, ranked
 *                       as in rb_buffer_create; optional once the query is known
 *     reference         optional: the response that the method "prc" compares with
 *     responses         a list of texts
 *     eligible          optional, a list of true or false, one for each response: false
 *                       treats the response as an empty one
 *     format_scores     optional, a list of numbers in 0..1, one for each response,
 *                       instead of the method's format check
 *     epoch             optional: the training epoch. By default the number of groups
 *                       that the query had
 *     step              optional: the training step
 *     update            optional, true: false keeps the buffer update for rb_update
 *     validate          optional, false: true never changes the buffer
 *     deadline_ms       optional: after it, what is not judged has the status "timeout"
 *     idempotency_key   optional, at most 256 bytes: a group whose key was applied to
 *                       the query before is scored and changes nothing
 *     after_checkpoint  optional, 0: number of the newest checkpoint that was saved
 *                       when the group began (see rb_restore_from)
 *     result_key        optional, at most 512 bytes: the journal keeps the group's
 *                       result under this key (see rb_journal)
 *   out    the ticket, which is valid until rb_poll has returned the group
 *
 * Groups of one query take effect in the order in which they were submitted or opened.
 * Groups of different queries run side by side.
 * RB_ERR_CONFLICT: the query id is known with other content.
 * RB_ERR_BUSY: "max_groups" are in flight; poll, then try again.
 * Does not block. Since 1. */
int32_t rb_score_submit(rb_handle scorer, const char *group, rb_ticket *out);

/* Cancel a group. It ends soon: each response that is not judged yet has the status
 * "cancelled", and the buffer stays as it was. With "on_failure": "raise" the group ends
 * with RB_ERR_CANCELLED instead. A group that has ended stays as it is.
 * RB_ERR_HANDLE: the ticket was never given out. Does not block. Since 1. */
int32_t rb_cancel(rb_handle scorer, rb_ticket ticket);

/* Return a descriptor that is readable while ended groups wait for rb_poll. It is an
 * eventfd, non-blocking and close-on-exec, for poll(2), epoll or an event loop. It
 * belongs to the scorer and closes with it. Do not read it: rb_poll does. It can be
 * readable although nothing is to be polled.
 * Does not block. Since 1. */
int32_t rb_event_fd(rb_handle scorer, int32_t *out);

/* Take every group that has ended.
 *
 *   out  a list in the order in which the groups ended, [] if none has:
 *     ticket  of the group
 *     result  its result, or
 *     error   why it failed, as in rb_last_error
 *
 * A result is a JSON object. Its lists are in the order of the responses.
 *     group_id, query_id, method, epoch, step
 *     rewards         finite numbers
 *     advantages      (reward - mean) / (std + 1e-6), or reward - mean for "dr_grpo"
 *     ranks           0 for the worst; equal ones share their mean rank
 *     positions       number of anchors below the response; null if it has none
 *     progress        share of the initial anchors that are below it, or null
 *     status          "ok" or why the response was not judged
 *     group_status    "ok"; "partial": at least one call failed; or "failed"
 *     anchors_before, anchors   size of the buffer before and after the group
 *     calls, tokens   requests sent, by kind, and what they cost
 *     latency_ms, reward_std
 *     applied         whether the group changed the buffer
 *     error, error_code, error_summary
 *                     optional: the first failure, as "message", "code" and "summary" in
 *                     rb_last_error
 *     detail          optional: what only this method reports; "unjudged" in it says
 *                     why no call was needed and all rewards are 0
 *
 * Each group is returned once: if several threads poll, one of them gets it. The call
 * clears the event descriptor. Does not block. Since 1. */
int32_t rb_poll(rb_handle scorer, char **out);

/* ------------------------------------------------- scoring: wait for the end */

/* Score one group and wait for its result. rb_poll does not return this group.
 *
 *   group  as in rb_score_submit
 *   out    the result, as in rb_poll
 *
 * If another thread closes the scorer, the wait ends as with rb_cancel.
 * RB_ERR_JUDGE, RB_ERR_CANCELLED: the group failed, and "on_failure" is "raise".
 * Other codes as in rb_score_submit. Waits for the judge. Since 1. */
int32_t rb_score_group(rb_handle scorer, const char *group, char **out);

/* -------------------------------------------- scoring: add responses one by one */

/* Open a group whose responses come one by one. Where the method allows it, a response
 * is judged as soon as it is there. The result is the same as that of a whole group.
 * Later groups of the query wait until this one is complete, closed or past its
 * deadline.
 *
 *   group     as in rb_score_submit, without "responses"
 *   expected  number of responses, at least 1
 *   out       the ticket
 *
 * Codes as in rb_score_submit. Does not block. Since 1. */
int32_t rb_group_open(rb_handle scorer, const char *group, int32_t expected, rb_ticket *out);

/* Add one response to an open group. With the last one the group closes.
 *
 *   index     its place in the group, from 0; each place once, in any order
 *   response  a JSON string, or a JSON object:
 *     text          the response
 *     eligible      optional, as in rb_score_submit
 *     format_score  optional, a number in 0..1, as in rb_score_submit
 *
 * RB_ERR_INVALID: the index is out of range or was used before, or the response is
 * larger than "max_response_bytes".
 * RB_ERR_HANDLE: the group was closed, its deadline has passed, or the ticket was never
 * given out. Does not block. Since 1. */
int32_t rb_group_add(rb_handle scorer, rb_ticket ticket, int32_t index, const char *response);

/* Close an open group. Each response that did not come has the status "cancelled", and
 * the group changes no buffer. A group that has all its responses stays as it is.
 * RB_ERR_HANDLE: the ticket was never given out. Does not block. Since 1. */
int32_t rb_group_close(rb_handle scorer, rb_ticket ticket);

/* -------------------------------------------------------------- checkpoints */

/* Write all buffers to a file. Each query is saved as it was before or after a whole
 * group; scoring goes on meanwhile. The library writes a temporary file beside the
 * path, syncs and renames it, so that a crash leaves the old file or the new one.
 * Equal buffers give equal bytes.
 *
 *   path  in any encoding; its directory must exist
 *
 * RB_ERR_IO: the file cannot be written. Waits for the disk. Since 1. */
int32_t rb_snapshot(rb_handle scorer, const char *path);

/* Replace all buffers by those of a file. After an error the scorer is as it was.
 *
 * RB_ERR_BUSY: groups are in flight, or a journal is open.
 * RB_ERR_IO: the file cannot be read.
 * RB_ERR_CHECKPOINT: the file is damaged, is no checkpoint, or was written by a newer
 * version or by another method. Waits for the disk. Since 1. */
int32_t rb_restore(rb_handle scorer, const char *path);

/* Write every later change of a buffer to a file, the journal. A change is in the
 * journal before rb_poll returns the group that made it. If the process dies, a
 * snapshot and the journal that follows it hold all buffers.
 *
 *   path      a new file; the journal that was open before is closed. NULL ends the
 *             journal
 *   snapshot  a file to which the state at the start of the new journal is written, as
 *             rb_snapshot does; NULL writes none
 *
 * A group with a "result_key" and the "group_status" "ok" also has its result in the
 * journal, even if its buffer did not change. After a restart rb_restore_from returns
 * these results. Every other group has changed nothing and can be scored again. Groups
 * with "validate": true or "update": false are not in the journal.
 *
 * A later write that fails makes no group fail: rb_stats counts it. If this call fails,
 * the old journal stays open; if only the snapshot failed, the new journal is open, and
 * the two journals together hold all changes.
 * RB_ERR_IO: a file cannot be written, or path exists. Waits for the disk. Since 1. */
int32_t rb_journal(rb_handle scorer, const char *path, const char *snapshot);

/* Replace all buffers by those of checkpoints and of the journals that follow them.
 * After an error the scorer is as it was.
 *
 *   sources  a JSON object:
 *     checkpoints  optional, a list of paths
 *     journals     optional, a list of paths, the oldest first
 *     until        optional: which groups of the journals are kept.
 *                  {"step": n} keeps the groups with step <= n, and those without a step
 *                  whose after_checkpoint is < n.
 *                  {"after_checkpoint": n} keeps the groups whose after_checkpoint
 *                  is < n
 *     shard        optional, {"index", "count"}: keeps the queries whose id has a CRC-32
 *                  that is index modulo count
 *     results      optional: how many results are returned, the newest; by default all
 *   out      a JSON object:
 *     queries      number of queries that are known now
 *     entries      number of journal entries that were applied
 *     skipped      number of journal entries that "until" and "shard" left out
 *     torn         true if a journal ended within an entry, because the process that
 *                  wrote it died
 *     after_checkpoint  the largest after_checkpoint of the entries that were applied
 *     results      a list, in the order of the journals, for the groups with a result:
 *       query_id, result_key  of the group
 *       result                byte for byte what rb_poll returned, or would have
 *       responses             for each response the first 24 hex digits of the SHA-256
 *                             of its text as it was added
 *
 * Codes as in rb_restore. Waits for the disk. Since 1. */
int32_t rb_restore_from(rb_handle scorer, const char *sources, char **out);

/* Read a checkpoint without a scorer.
 *
 *   query_id  reads the buffer of this query alone; NULL reads all
 *   out       a buffer as in rb_buffer_get; or {"meta": {"method", "created_by"},
 *             "queries": [buffers]}
 *
 * RB_ERR_NOT_FOUND: the query is not in the file.
 * RB_ERR_IO, RB_ERR_CHECKPOINT: as in rb_restore. Waits for the disk. Since 1. */
int32_t rb_inspect(const char *path, const char *query_id, char **out);

/* --------------------------------------------------------- simulated judge */

/* Serve a simulated judge over HTTP, OpenAI-compatible, for demos and tests.
 *
 *   config  a JSON object:
 *     host, port     optional, "127.0.0.1" and 0; port 0 takes a free one
 *     qualities      {text: number}, or by query {query: {text: number}}
 *     sigma, drift, taste, crowding, position_bias
 *                    optional, 0: the judge's errors
 *     latency_ms     optional, 0: duration of a call
 *     failure_rate, malformed_rate
 *                    optional, 0: shares of calls that fail or give no verdict
 *     seed           optional, 0
 *   out     the handle; stop the server with rb_sim_stop
 *
 * RB_ERR_IO: the address cannot be listened on. Does not block. Since 1. */
int32_t rb_sim_start(const char *config, rb_handle *out);

/* Return the server's URL, such as "http://127.0.0.1:40123/v1", for "judge.base_url".
 * Does not block. Since 1. */
int32_t rb_sim_url(rb_handle sim, char **out);

/* Stop the server: close the listener and end the requests in flight.
 * deadline_ms and RB_ERR_BUSY as in rb_scorer_close. Since 1. */
int32_t rb_sim_stop(rb_handle sim, int64_t deadline_ms);

#ifdef __cplusplus
}
#endif

#endif /* RANKBUFFER_H */
