/* A scorer that dies, and one that takes up where it was. */
#include "harness.h"

#include <unistd.h>

void journal(void) {
    rb_handle first = new_scorer(EXACT), second;
    char *at_the_end, *resumed, *result, *out;
    OK(rb_buffer_create(first, QUERY));
    OK(rb_journal(first, "j1", "snapshot"));
    WANT(RB_ERR_IO, rb_journal(first, "j1", NULL)); /* exists: the old one goes on */
    OK(rb_score_group(first, GROUP, &out));
    rb_free(out);
    OK(rb_journal(first, "j2", NULL));
    OK(rb_score_group(first, "{\"query_id\": \"q\", \"responses\": [\"q2\", \"q6\", \"q8\"], "
                             "\"epoch\": 7, \"after_checkpoint\": 5, \"result_key\": \"uid\"}", &result));
    OK(rb_buffer_get(first, "q", &at_the_end));
    OK(rb_journal(first, NULL, NULL));
    OK(rb_scorer_close(first, 5000));

    second = new_scorer(EXACT);
    OK(rb_restore_from(second, "{\"checkpoints\": [\"snapshot\"], \"journals\": [\"j1\", \"j2\"]}",
                       &out));
    CONTAINS(out, "\"queries\":1");
    CONTAINS(out, "\"results\":[{\"query_id\":\"q\",\"result_key\":\"uid\",\"result\":");
    CONTAINS(out, result);
    rb_free(out);
    OK(rb_buffer_get(second, "q", &resumed));
    CHECK(strcmp(at_the_end, resumed) == 0);

    REFUSES(RB_ERR_INVALID, "sources: must not be NULL", rb_restore_from(second, NULL, &out));
    REFUSES(RB_ERR_INVALID, "out: must not be NULL", rb_restore_from(second, "{}", NULL));
    REFUSES(RB_ERR_INVALID, "colour", rb_restore_from(second, "{\"colour\": 1}", &out));
    WANT(RB_ERR_IO, rb_restore_from(second, "{\"journals\": [\"no_such_file\"]}", &out));
    CHECK(out == NULL);
    WANT(RB_ERR_IO, rb_journal(second, "no/such/directory/j", NULL));
    OK(rb_scorer_close(second, 5000));
    WANT(RB_ERR_HANDLE, rb_journal(second, "j3", NULL));
    WANT(RB_ERR_HANDLE, rb_restore_from(second, "{}", &out));
    rb_free(at_the_end);
    rb_free(resumed);
    rb_free(result);
    CHECK(unlink("snapshot") == 0 && unlink("j1") == 0 && unlink("j2") == 0);
}
