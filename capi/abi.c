/* The rb_* functions. Each one calls its Go half, whose name starts with rbgo_; in a
 * forked child, where Go must not run, it refuses. */
#include "abi.h"

#include <stdlib.h>
#include <string.h>

#include "_cgo_export.h"

static int32_t refuse_forked(void) {
    static const char json[] =
        "{\"code\":\"forked\",\"status\":-9,"
        "\"summary\":\"the process was forked after it had loaded the library\","
        "\"message\":\"the process was forked after RankBuffer was loaded; "
        "fork before loading it, or start a fresh process\"}";
    return abi_set_error(RB_ERR_FORKED, json, sizeof json - 1);
}

#define UNLESS_FORKED(call) return abi_forked() ? refuse_forked() : (call)

/* Go's generated prototypes know no const; the Go halves only read. */
#define TEXT(argument) ((char *)(argument))

uint32_t rb_abi_version(void) { return RB_ABI_VERSION; }

const char *rb_version(void) { return RB_VERSION; }

void rb_free(void *text) { free(text); }

int32_t rb_handles_open(void) {
    UNLESS_FORKED(rbgo_handles_open());
}

int32_t rb_scorer_new(const char *config, rb_handle *out) {
    UNLESS_FORKED(rbgo_scorer_new(TEXT(config), out));
}

int32_t rb_check(const char *document) {
    UNLESS_FORKED(rbgo_check(TEXT(document)));
}

int32_t rb_prompt_template(const char *kind, char **out) {
    UNLESS_FORKED(rbgo_prompt_template(TEXT(kind), out));
}

int32_t rb_scorer_close(rb_handle scorer, int64_t deadline_ms) {
    UNLESS_FORKED(rbgo_scorer_close(scorer, deadline_ms));
}

int32_t rb_stats(rb_handle scorer, char **out) {
    UNLESS_FORKED(rbgo_stats(scorer, out));
}

int32_t rb_judge_check(rb_handle scorer, int64_t deadline_ms) {
    UNLESS_FORKED(rbgo_judge_check(scorer, deadline_ms));
}

int32_t rb_buffer_create(rb_handle scorer, const char *query) {
    UNLESS_FORKED(rbgo_buffer_create(scorer, TEXT(query)));
}

int32_t rb_buffer_get(rb_handle scorer, const char *query_id, char **out) {
    UNLESS_FORKED(rbgo_buffer_get(scorer, TEXT(query_id), out));
}

int32_t rb_rubrics_write(rb_handle scorer, const char *query, char **out) {
    UNLESS_FORKED(rbgo_rubrics_write(scorer, TEXT(query), out));
}

int32_t rb_update(rb_handle scorer, const char *group_id) {
    UNLESS_FORKED(rbgo_update(scorer, TEXT(group_id)));
}

int32_t rb_score_submit(rb_handle scorer, const char *group, rb_ticket *out) {
    UNLESS_FORKED(rbgo_score_submit(scorer, TEXT(group), out));
}

int32_t rb_cancel(rb_handle scorer, rb_ticket ticket) {
    UNLESS_FORKED(rbgo_cancel(scorer, ticket));
}

int32_t rb_event_fd(rb_handle scorer, int32_t *out) {
    UNLESS_FORKED(rbgo_event_fd(scorer, out));
}

int32_t rb_poll(rb_handle scorer, char **out) {
    UNLESS_FORKED(rbgo_poll(scorer, out));
}

int32_t rb_score_group(rb_handle scorer, const char *group, char **out) {
    UNLESS_FORKED(rbgo_score_group(scorer, TEXT(group), out));
}

int32_t rb_group_open(rb_handle scorer, const char *group, int32_t expected, rb_ticket *out) {
    UNLESS_FORKED(rbgo_group_open(scorer, TEXT(group), expected, out));
}

int32_t rb_group_add(rb_handle scorer, rb_ticket ticket, int32_t index, const char *response) {
    UNLESS_FORKED(rbgo_group_add(scorer, ticket, index, TEXT(response)));
}

int32_t rb_group_close(rb_handle scorer, rb_ticket ticket) {
    UNLESS_FORKED(rbgo_group_close(scorer, ticket));
}

int32_t rb_snapshot(rb_handle scorer, const char *path) {
    UNLESS_FORKED(rbgo_snapshot(scorer, TEXT(path)));
}

int32_t rb_restore(rb_handle scorer, const char *path) {
    UNLESS_FORKED(rbgo_restore(scorer, TEXT(path)));
}

int32_t rb_journal(rb_handle scorer, const char *path, const char *snapshot) {
    UNLESS_FORKED(rbgo_journal(scorer, TEXT(path), TEXT(snapshot)));
}

int32_t rb_restore_from(rb_handle scorer, const char *sources, char **out) {
    UNLESS_FORKED(rbgo_restore_from(scorer, TEXT(sources), out));
}

int32_t rb_inspect(const char *path, const char *query_id, char **out) {
    UNLESS_FORKED(rbgo_inspect(TEXT(path), TEXT(query_id), out));
}

int32_t rb_sim_start(const char *config, rb_handle *out) {
    UNLESS_FORKED(rbgo_sim_start(TEXT(config), out));
}

int32_t rb_sim_url(rb_handle sim, char **out) {
    UNLESS_FORKED(rbgo_sim_url(sim, out));
}

int32_t rb_sim_stop(rb_handle sim, int64_t deadline_ms) {
    UNLESS_FORKED(rbgo_sim_stop(sim, deadline_ms));
}
