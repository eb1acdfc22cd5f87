/* Every error code that input, time or files can bring about; RB_ERR_FORKED is in
 * process.c, and RB_ERR_PANIC takes a bug (capi's own tests have one). */
#include "harness.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

void bad_arguments(void) {
    rb_handle scorer = new_scorer(EXACT), none = 7;
    rb_ticket ticket = 7;
    char *out = (char *)"untouched";
    int32_t fd;

    REFUSES(RB_ERR_INVALID, "config: must not be NULL", rb_scorer_new(NULL, &none));
    CHECK(none == 0);
    REFUSES(RB_ERR_INVALID, "out: must not be NULL", rb_scorer_new(EXACT, NULL));
    REFUSES(RB_ERR_INVALID, "document: must not be NULL", rb_check(NULL));
    REFUSES(RB_ERR_INVALID, "out: must not be NULL", rb_prompt_template("coarse", NULL));
    REFUSES(RB_ERR_INVALID, "kind: must not be NULL", rb_prompt_template(NULL, &out));
    CHECK(out == NULL);
    REFUSES(RB_ERR_INVALID, "the kinds are coarse, ", rb_prompt_template("course", &out));
    CHECK(out == NULL);
    REFUSES(RB_ERR_INVALID, "query: must not be NULL", rb_buffer_create(scorer, NULL));
    REFUSES(RB_ERR_INVALID, "query_id: must not be NULL", rb_buffer_get(scorer, NULL, &out));
    CHECK(out == NULL);
    REFUSES(RB_ERR_INVALID, "out: must not be NULL", rb_buffer_get(scorer, "q", NULL));
    REFUSES(RB_ERR_INVALID, "group: must not be NULL", rb_score_submit(scorer, NULL, &ticket));
    CHECK(ticket == 0);
    REFUSES(RB_ERR_INVALID, "out: must not be NULL", rb_score_submit(scorer, GROUP, NULL));
    REFUSES(RB_ERR_INVALID, "group: must not be NULL", rb_score_group(scorer, NULL, &out));
    REFUSES(RB_ERR_INVALID, "out: must not be NULL", rb_score_group(scorer, GROUP, NULL));
    REFUSES(RB_ERR_INVALID, "group: must not be NULL", rb_group_open(scorer, NULL, 1, &ticket));
    REFUSES(RB_ERR_INVALID, "out: must not be NULL", rb_group_open(scorer, GROUP, 1, NULL));
    REFUSES(RB_ERR_INVALID, "response: must not be NULL", rb_group_add(scorer, 1, 0, NULL));
    REFUSES(RB_ERR_INVALID, "group_id: must not be NULL", rb_update(scorer, NULL));
    REFUSES(RB_ERR_INVALID, "path: must not be NULL", rb_snapshot(scorer, NULL));
    REFUSES(RB_ERR_INVALID, "path: must not be NULL", rb_restore(scorer, NULL));
    REFUSES(RB_ERR_INVALID, "path: must not be NULL", rb_inspect(NULL, NULL, &out));
    REFUSES(RB_ERR_INVALID, "out: must not be NULL", rb_inspect("x", NULL, NULL));
    REFUSES(RB_ERR_INVALID, "out: must not be NULL", rb_poll(scorer, NULL));
    REFUSES(RB_ERR_INVALID, "out: must not be NULL", rb_event_fd(scorer, NULL));
    REFUSES(RB_ERR_INVALID, "out: must not be NULL", rb_stats(scorer, NULL));
    REFUSES(RB_ERR_INVALID, "config: must not be NULL", rb_sim_start(NULL, &none));
    REFUSES(RB_ERR_INVALID, "out: must not be NULL", rb_sim_start("{}", NULL));
    REFUSES(RB_ERR_INVALID, "out: must not be NULL", rb_sim_url(scorer, NULL));

    REFUSES(RB_ERR_HANDLE, "not a simulated judge", rb_sim_url(scorer, &out));
    REFUSES(RB_ERR_HANDLE, "not a simulated judge", rb_sim_stop(scorer, 0));
    OK(rb_scorer_close(scorer, 5000));

    rb_handle closed[] = {scorer, 0, scorer + 1000};
    for (int i = 0; i < 3; i++) {
        rb_handle h = closed[i];
        WANT(RB_ERR_HANDLE, rb_scorer_close(h, 0));
        WANT(RB_ERR_HANDLE, rb_stats(h, &out));
        WANT(RB_ERR_HANDLE, rb_buffer_create(h, QUERY));
        WANT(RB_ERR_HANDLE, rb_buffer_get(h, "q", &out));
        WANT(RB_ERR_HANDLE, rb_update(h, "q/0/0"));
        WANT(RB_ERR_HANDLE, rb_score_submit(h, GROUP, &ticket));
        WANT(RB_ERR_HANDLE, rb_cancel(h, 1));
        WANT(RB_ERR_HANDLE, rb_event_fd(h, &fd));
        WANT(RB_ERR_HANDLE, rb_poll(h, &out));
        WANT(RB_ERR_HANDLE, rb_score_group(h, GROUP, &out));
        WANT(RB_ERR_HANDLE, rb_group_open(h, GROUP, 1, &ticket));
        WANT(RB_ERR_HANDLE, rb_group_add(h, 1, 0, "\"x\""));
        WANT(RB_ERR_HANDLE, rb_group_close(h, 1));
        WANT(RB_ERR_HANDLE, rb_snapshot(h, "x"));
        WANT(RB_ERR_HANDLE, rb_restore(h, "x"));
        WANT(RB_ERR_HANDLE, rb_sim_url(h, &out));
        WANT(RB_ERR_HANDLE, rb_sim_stop(h, 0));
    }
    rb_free(NULL);
}

void bad_documents(void) {
    rb_handle scorer, sim;
    rb_ticket ticket;
    REFUSES(RB_ERR_INVALID, "config", rb_scorer_new("", &scorer));
    REFUSES(RB_ERR_INVALID, "config", rb_scorer_new("[]", &scorer));
    REFUSES(RB_ERR_INVALID, "colour", rb_scorer_new("{\"colour\": 1}", &scorer));
    REFUSES(RB_ERR_INVALID, "UTF-8", rb_scorer_new("{\"seed\": \"\xff\"}", &scorer));
    REFUSES(RB_ERR_INVALID, "k0",
            rb_scorer_new("{\"method\": {\"name\": \"rankbuffer\", \"k0\": 1}, \"judge\": "
                          "{\"type\": \"simulated\", " QUALITIES "}}",
                          &scorer));
    REFUSES(RB_ERR_INVALID, "no_such_method",
            rb_scorer_new("{\"method\": {\"name\": \"no_such_method\"}, \"judge\": "
                          "{\"type\": \"simulated\", " QUALITIES "}}",
                          &scorer));
    REFUSES(RB_ERR_INVALID, "judge", rb_scorer_new("{" METHOD "}", &scorer));
    REFUSES(RB_ERR_INVALID, "port", rb_sim_start("{\"port\": 70000}", &sim));
    REFUSES(RB_ERR_INVALID, "colour", rb_sim_start("{\"colour\": 1}", &sim));

    scorer = new_scorer(EXACT);
    REFUSES(RB_ERR_INVALID, "query_id", rb_buffer_create(scorer, "{}"));
    REFUSES(RB_ERR_INVALID, "ranked",
            rb_buffer_create(scorer, "{\"query_id\": \"a\", \"query\": \"?\", \"ranked\": [\"x\"]}"));
    OK(rb_buffer_create(scorer, QUERY));
    REFUSES(RB_ERR_CONFLICT, "query",
            rb_buffer_create(scorer, "{\"query_id\": \"q\", \"query\": \"Another.\"}"));
    REFUSES(RB_ERR_CONFLICT, "ranked",
            rb_score_submit(scorer,
                            "{\"query_id\": \"q\", \"ranked\": [\"q1\", \"q9\"], "
                            "\"responses\": [\"q7\"]}",
                            &ticket));
    REFUSES(RB_ERR_INVALID, "responses",
            rb_score_submit(scorer, "{\"query_id\": \"q\", \"responses\": []}", &ticket));
    REFUSES(RB_ERR_INVALID, "format_scores",
            rb_score_submit(scorer,
                            "{\"query_id\": \"q\", \"responses\": [\"q7\"], "
                            "\"format_scores\": [1.5]}",
                            &ticket));
    REFUSES(RB_ERR_INVALID, "rewords",
            rb_score_submit(scorer, "{\"query_id\": \"q\", \"rewords\": []}", &ticket));
    REFUSES(RB_ERR_INVALID, "query",
            rb_score_submit(scorer, "{\"query_id\": \"new\", \"responses\": [\"x\"]}", &ticket));
    REFUSES(RB_ERR_INVALID, "expected", rb_group_open(scorer, "{\"query_id\": \"q\"}", 0, &ticket));
    REFUSES(RB_ERR_INVALID, "UTF-8", rb_update(scorer, "\xc3"));
    CHECK(ticket == 0);

    /* A failure's text survives a success; a long one is cut, not overrun. */
    char *out, huge[9000] = "{\"";
    memset(huge + 2, 'x', sizeof huge - 10);
    strcpy(huge + sizeof huge - 8, "\": 1}");
    REFUSES(RB_ERR_INVALID, "xxx", rb_scorer_new(huge, &(rb_handle){0}));
    CHECK(strlen(rb_last_error()) <= 4500);
    OK(rb_stats(scorer, &out));
    rb_free(out);
    CONTAINS(rb_last_error(), "xxx");
    OK(rb_scorer_close(scorer, 5000));
}

void checking(void) {
    OK(rb_check("{\"config\": " EXACT "}"));
    OK(rb_check("{\"config\": " EXACT ", \"queries\": [" QUERY ", {" QUERY_OF("other") "}]}"));
    REFUSES(RB_ERR_INVALID, "\"field\":\"config\"", rb_check("{}"));
    REFUSES(RB_ERR_INVALID, "\"field\":\"judge\"", rb_check("{\"config\": {" METHOD "}}"));
    REFUSES(RB_ERR_INVALID, "\"field\":\"queries[1].ranked\"",
            rb_check("{\"config\": " EXACT ", \"queries\": [" QUERY
                     ", {\"query_id\": \"a\", \"query\": \"?\", \"ranked\": [\"x\"]}]}"));
    REFUSES(RB_ERR_CONFLICT, "\"field\":\"queries[1].query\"",
            rb_check("{\"config\": " EXACT ", \"queries\": [" QUERY
                     ", {\"query_id\": \"q\", \"query\": \"Another.\"}]}"));
}

void stale_and_unknown(void) {
    rb_handle scorer = new_scorer(EXACT);
    char *result, id[128] = "", *out;
    OK(rb_buffer_create(scorer, QUERY));
    OK(rb_score_group(scorer, "{\"query_id\": \"q\", \"responses\": [\"q0\", \"q7\"], "
                              "\"update\": false}", &result));
    CHECK(sscanf(strstr(result, "\"group_id\":"), "\"group_id\":\"%127[^\"]", id) == 1);
    rb_free(result);
    OK(rb_update(scorer, id));
    WANT(RB_ERR_STALE, rb_update(scorer, id)); /* applied already */

    OK(rb_score_group(scorer, "{\"query_id\": \"q\", \"responses\": [\"q2\", \"q8\"], "
                              "\"update\": false, \"epoch\": 5}", &result));
    CHECK(sscanf(strstr(result, "\"group_id\":"), "\"group_id\":\"%127[^\"]", id) == 1);
    rb_free(result);
    OK(rb_score_group(scorer, "{\"query_id\": \"q\", \"responses\": [\"q3\", \"q4\", \"q6\"], "
                              "\"epoch\": 6}", &result));
    rb_free(result);
    WANT(RB_ERR_STALE, rb_update(scorer, id)); /* the buffer has moved on */

    REFUSES(RB_ERR_NOT_FOUND, "nobody", rb_buffer_get(scorer, "nobody", &out));
    WANT(RB_ERR_HANDLE, rb_cancel(scorer, 0));
    WANT(RB_ERR_HANDLE, rb_cancel(scorer, 999999));
    WANT(RB_ERR_HANDLE, rb_group_add(scorer, 999999, 0, "\"x\""));
    WANT(RB_ERR_HANDLE, rb_group_close(scorer, 999999));
    OK(rb_scorer_close(scorer, 5000));
}

/* RB_ERR_BUSY, and a group given up. */
void limits(void) {
    rb_handle scorer = new_scorer(
        "{" METHOD ", \"judge\": {\"type\": \"simulated\", \"latency_ms\": 60000, " QUALITIES "}, "
        "\"max_groups\": 1, \"max_response_bytes\": 20}");
    rb_ticket ticket, other;
    OK(rb_buffer_create(scorer, QUERY));
    OK(rb_snapshot(scorer, "limits.zst"));
    REFUSES(RB_ERR_INVALID, "max_response_bytes",
            rb_score_submit(scorer, "{\"query_id\": \"q\", \"responses\": [\"0123456789 123456789x\"]}", &other));
    OK(rb_score_submit(scorer, GROUP, &ticket));
    REFUSES(RB_ERR_BUSY, "max_groups", rb_score_submit(scorer, GROUP, &other));
    WANT(RB_ERR_BUSY, rb_restore(scorer, "limits.zst"));
    OK(rb_cancel(scorer, ticket));
    char *completions = await_poll(scorer);
    CONTAINS(completions, "\"status\":[\"cancelled\",\"cancelled\",\"cancelled\"]");
    rb_free(completions);
    OK(rb_cancel(scorer, ticket)); /* once more, too late, changes nothing */
    OK(rb_scorer_close(scorer, 5000));
    CHECK(unlink("limits.zst") == 0);

    scorer = new_scorer(
        "{" METHOD ", \"on_failure\": \"raise\", \"judge\": {\"type\": \"simulated\", "
        "\"latency_ms\": 60000, " QUALITIES "}}");
    OK(rb_buffer_create(scorer, QUERY));
    OK(rb_score_submit(scorer, GROUP, &ticket));
    OK(rb_cancel(scorer, ticket));
    completions = await_poll(scorer);
    CONTAINS(completions, "\"error\":{\"code\":\"cancelled\",\"status\":-12");
    rb_free(completions);
    OK(rb_scorer_close(scorer, 5000));
}

/* Make one change to a copy of a file. */
static void damage(const char *from, const char *to, long keep, long flip) {
    static char bytes[1 << 20];
    FILE *file = fopen(from, "rb");
    CHECK(file != NULL);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    CHECK(size > 40 && size < sizeof bytes);
    if (flip >= 0)
        bytes[(size_t)flip % size] ^= 1;
    file = fopen(to, "wb");
    CHECK(file != NULL && fwrite(bytes, 1, keep > 0 ? (size_t)keep : size, file) > 0);
    CHECK(fclose(file) == 0);
}

void files(void) {
    rb_handle scorer = new_scorer(EXACT);
    char *before, *after, *out;
    OK(rb_buffer_create(scorer, QUERY));
    OK(rb_snapshot(scorer, "files.zst"));
    OK(rb_buffer_create(scorer, "{" QUERY_OF("later") "}"));
    OK(rb_buffer_get(scorer, "later", &before));

    WANT(RB_ERR_IO, rb_snapshot(scorer, "no/such/directory/file.zst"));
    WANT(RB_ERR_IO, rb_restore(scorer, "no_such_file.zst"));
    WANT(RB_ERR_IO, rb_inspect("no_such_file.zst", NULL, &out));
    REFUSES(RB_ERR_NOT_FOUND, "nobody", rb_inspect("files.zst", "nobody", &out));

    damage("files.zst", "damaged.zst", 37, -1);
    WANT(RB_ERR_CHECKPOINT, rb_restore(scorer, "damaged.zst"));
    WANT(RB_ERR_CHECKPOINT, rb_inspect("damaged.zst", NULL, &out));
    for (long at = 0; at < 400; at += 7) {
        damage("files.zst", "damaged.zst", 0, at);
        WANT(RB_ERR_CHECKPOINT, rb_restore(scorer, "damaged.zst"));
    }
    FILE *foreign = fopen("damaged.zst", "w");
    CHECK(foreign != NULL && fputs("This is a text, and no checkpoint of anything.\n", foreign) > 0);
    CHECK(fclose(foreign) == 0);
    WANT(RB_ERR_CHECKPOINT, rb_restore(scorer, "damaged.zst"));

    OK(rb_buffer_get(scorer, "later", &after)); /* the refused files left it alone */
    CHECK(strcmp(before, after) == 0);
    rb_free(before);
    rb_free(after);
    OK(rb_restore(scorer, "files.zst"));
    WANT(RB_ERR_NOT_FOUND, rb_buffer_get(scorer, "later", &out));
    OK(rb_scorer_close(scorer, 5000));
    CHECK(unlink("files.zst") == 0 && unlink("damaged.zst") == 0);
}

/* A judge that fails: by default the statuses say so, with "raise" the call. */
void judges(void) {
    rb_handle scorer = new_scorer(
        "{" METHOD ", \"on_failure\": \"raise\", \"judge\": {\"type\": \"simulated\", "
        "\"failure_rate\": 1, \"max_retries\": 0, " QUALITIES "}}");
    char *out;
    OK(rb_buffer_create(scorer, QUERY));
    WANT(RB_ERR_JUDGE, rb_score_group(scorer, GROUP, &out));
    CHECK(out == NULL);
    rb_ticket ticket;
    OK(rb_score_submit(scorer, GROUP, &ticket));
    out = await_poll(scorer);
    CONTAINS(out, "\"status\":-11");
    rb_free(out);
    OK(rb_scorer_close(scorer, 5000));

    /* Over HTTP, from the simulated server and from where nobody listens. */
    rb_handle sim;
    char *url, config[1024];
    OK(rb_sim_start("{" QUALITIES "}", &sim));
    OK(rb_sim_url(sim, &url));
    CONTAINS(url, "http://127.0.0.1:");
    snprintf(config, sizeof config,
             "{" METHOD ", \"judge\": {\"base_url\": \"%s\", \"model\": \"simulated\", \"max_retries\": 0}}",
             url);
    scorer = new_scorer(config);
    OK(rb_buffer_create(scorer, QUERY));
    OK(rb_judge_check(scorer, 5000));
    OK(rb_rubrics_write(scorer, QUERY, &out));
    CONTAINS(out, "\"weight\":");
    rb_free(out);
    OK(rb_score_group(scorer, GROUP, &out));
    CONTAINS(out, "\"rewards\":[1,-1,0]");
    rb_free(out);
    OK(rb_sim_stop(sim, 5000));
    REFUSES(RB_ERR_JUDGE, url, rb_judge_check(scorer, -1));
    REFUSES(RB_ERR_JUDGE, url, rb_rubrics_write(scorer, QUERY, &out));
    CHECK(out == NULL);
    REFUSES(RB_ERR_INVALID, "query_id", rb_rubrics_write(scorer, "{}", &out));
    OK(rb_score_group(scorer, GROUP, &out));
    CONTAINS(out, "\"status\":[\"judge_failed\",\"judge_failed\",\"judge_failed\"]");
    rb_free(out);
    OK(rb_scorer_close(scorer, 5000));

    char busy[256];
    OK(rb_sim_start("{" QUALITIES "}", &sim));
    rb_free(url);
    OK(rb_sim_url(sim, &url));
    int port = atoi(strrchr(url, ':') + 1);
    snprintf(busy, sizeof busy, "{\"port\": %d}", port);
    WANT(RB_ERR_IO, rb_sim_start(busy, &(rb_handle){0}));
    rb_free(url);
    OK(rb_sim_stop(sim, 5000));
}
