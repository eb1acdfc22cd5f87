/* What a host does with a scorer from its creation to its end. */
#include "harness.h"

#include <poll.h>
#include <unistd.h>

/* Score one group and keep its result's words in view. */
static char *score(rb_handle scorer, const char *group) {
    char *result;
    OK(rb_score_group(scorer, group, &result));
    CONTAINS(result, "\"group_status\":\"ok\"");
    return result;
}

/* Create, score, update, snapshot, restore, inspect, close. */
void life(void) {
    const char *path = "life.zst";
    rb_handle scorer = new_scorer(EXACT);
    char *before, *after, *restored, *inspected, *result, *stats;

    CHECK(strcmp(rb_version(), "") != 0);
    OK(rb_buffer_create(scorer, QUERY));
    OK(rb_buffer_create(scorer, QUERY)); /* once more changes nothing */
    OK(rb_buffer_get(scorer, "q", &before));
    CONTAINS(before, "\"query_id\":\"q\"");
    CONTAINS(before, "\"source\":\"ranked\"");

    result = score(scorer, GROUP);
    CONTAINS(result, "\"group_id\":\"q/");
    CONTAINS(result, "\"rewards\":[1,-1,0]");
    CONTAINS(result, "\"ranks\":[2,0,1]");
    CONTAINS(result, "\"status\":[\"ok\",\"ok\",\"ok\"]");
    rb_free(result);
    OK(rb_buffer_get(scorer, "q", &after));
    CHECK(strcmp(before, after) != 0); /* q0 is the new left end */
    CONTAINS(after, "\"text\":\"q0\"");

    OK(rb_snapshot(scorer, path));
    rb_free(score(scorer, "{\"query_id\": \"q\", \"responses\": [\"q8\", \"q2\"], \"epoch\": 9}"));
    OK(rb_restore(scorer, path));
    OK(rb_buffer_get(scorer, "q", &restored));
    CHECK(strcmp(after, restored) == 0);
    OK(rb_inspect(path, "q", &inspected));
    CHECK(strcmp(after, inspected) == 0);
    rb_free(inspected);
    OK(rb_inspect(path, NULL, &inspected));
    CONTAINS(inspected, "\"query_id\":\"q\"");
    rb_free(inspected);

    OK(rb_stats(scorer, &stats));
    CONTAINS(stats, "\"coarse\"");
    rb_free(stats);
    rb_free(before);
    rb_free(after);
    rb_free(restored);
    OK(rb_scorer_close(scorer, 5000));
    CHECK(unlink(path) == 0);
}

/* A group fed response by response has the result of the group as a whole. */
void feeding(void) {
    rb_handle scorer = new_scorer(EXACT);
    rb_ticket ticket = 0;
    OK(rb_buffer_create(scorer, QUERY));
    OK(rb_group_open(scorer, "{\"query_id\": \"q\"}", 3, &ticket));
    CHECK(ticket != 0);
    OK(rb_group_add(scorer, ticket, 2, "\"q3\""));
    OK(rb_group_add(scorer, ticket, 0, "{\"text\": \"q7\", \"format_score\": 0.5}"));
    REFUSES(RB_ERR_INVALID, "0", rb_group_add(scorer, ticket, 0, "\"again\""));
    REFUSES(RB_ERR_INVALID, "3", rb_group_add(scorer, ticket, 3, "\"beyond\""));
    REFUSES(RB_ERR_INVALID, "response", rb_group_add(scorer, ticket, 1, "no JSON"));
    OK(rb_group_add(scorer, ticket, 1, "\"q0\""));
    char *completions = await_poll(scorer);
    CONTAINS(completions, "\"ranks\":[2,0,1]");
    rb_free(completions);

    /* Closed early: what did not come is cancelled, what came is ranked. */
    OK(rb_group_open(scorer, "{\"query_id\": \"q\"}", 3, &ticket));
    OK(rb_group_add(scorer, ticket, 0, "\"q4\""));
    OK(rb_group_add(scorer, ticket, 2, "\"q6\""));
    OK(rb_group_close(scorer, ticket));
    completions = await_poll(scorer);
    CONTAINS(completions, "\"status\":[\"ok\",\"cancelled\",\"ok\"]");
    rb_free(completions);
    OK(rb_scorer_close(scorer, 5000));
}

/* Submit many, wait on the descriptor, and get each completion once. */
void waking(void) {
    enum { GROUPS = 200 };
    rb_handle scorer = new_scorer(SLOW(1));
    char seen[GROUPS + 1] = {0};
    rb_ticket first = 0;
    for (int i = 0; i < GROUPS; i++) {
        char group[256];
        rb_ticket ticket = 0;
        snprintf(group, sizeof group,
                 "{\"query_id\": \"q%d\", \"query\": \"?\", \"ranked\": [\"q9\", \"q1\"], "
                 "\"responses\": [\"q7\", \"q3\"]}",
                 i);
        OK(rb_score_submit(scorer, group, &ticket));
        first = i == 0 ? ticket : first;
    }
    for (int got = 0; got < GROUPS;) {
        char *completions = await_poll(scorer);
        for (char *at = completions; (at = strstr(at, "{\"ticket\":")) != NULL; got++) {
            at += strlen("{\"ticket\":");
            rb_ticket index = strtoull(at, NULL, 10) - first;
            CHECK(index < GROUPS && !seen[index]);
            seen[index] = 1;
        }
        rb_free(completions);
    }
    char *completions;
    OK(rb_poll(scorer, &completions));
    CHECK(strcmp(completions, "[]") == 0);
    rb_free(completions);
    int32_t fd = -1;
    OK(rb_event_fd(scorer, &fd));
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    CHECK(poll(&ready, 1, 0) == 0);
    OK(rb_scorer_close(scorer, 5000));
}
