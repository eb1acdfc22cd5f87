/* What the cases share: checks that say what they got, and a few documents. */
#ifndef HARNESS_H
#define HARNESS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rankbuffer.h"

#define FAIL(...)                                       \
    do {                                                \
        fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
        fprintf(stderr, __VA_ARGS__);                   \
        fputc('\n', stderr);                            \
        exit(1);                                        \
    } while (0)

#define CHECK(condition)                 \
    do {                                 \
        if (!(condition))                \
            FAIL("%s", "not " #condition); \
    } while (0)

/* The call must return the code; a failure must leave a text. */
#define WANT(code, call)                                                                   \
    do {                                                                                   \
        int32_t got_ = (call);                                                             \
        if (got_ != (code))                                                                \
            FAIL(#call " = %d, want %d (" #code "); last error: %s", got_, (int)(code),    \
                 rb_last_error());                                                         \
        if (got_ < 0 && rb_last_error()[0] == '\0')                                        \
            FAIL(#call " = %d left no text", got_);                                        \
    } while (0)

#define OK(call) WANT(RB_OK, call)

/* The call must fail with the code and a text that contains words. */
#define REFUSES(code, words, call)                                              \
    do {                                                                        \
        WANT(code, call);                                                       \
        if (strstr(rb_last_error(), (words)) == NULL)                           \
            FAIL(#call ": \"%s\" is not in: %s", (words), rb_last_error());     \
    } while (0)

/* A document must contain words. */
#define CONTAINS(text, words)                                   \
    do {                                                        \
        if (strstr((text), (words)) == NULL)                    \
            FAIL("\"%s\" is not in %s", (words), (text));       \
    } while (0)

/* Qualities 0 (q0) to 9 (q9); "fails" and "slow" variants below. */
#define QUALITIES                                                                             \
    "\"qualities\": {\"q0\": 0, \"q1\": 1, \"q2\": 2, \"q3\": 3, \"q4\": 4, \"q5\": 5, "     \
    "\"q6\": 6, \"q7\": 7, \"q8\": 8, \"q9\": 9}"
#define METHOD "\"method\": {\"name\": \"rankbuffer\", \"k0\": 2}"
#define EXACT "{" METHOD ", \"judge\": {\"type\": \"simulated\", " QUALITIES "}}"
#define SLOW(ms) \
    "{" METHOD ", \"judge\": {\"type\": \"simulated\", \"latency_ms\": " #ms ", " QUALITIES "}}"

#define QUERY_OF(id) \
    "\"query_id\": \"" id "\", \"query\": \"Say something.\", \"ranked\": [\"q9\", \"q5\", \"q1\"]"
#define QUERY "{" QUERY_OF("q") "}"
#define GROUP "{\"query_id\": \"q\", \"responses\": [\"q7\", \"q0\", \"q3\"]}"

/* A scorer that must come into being. */
rb_handle new_scorer(const char *config);

/* Wait for the event descriptor of a scorer, at most half a minute. */
void await_event(rb_handle scorer);

/* Wait for and take one poll's completions that are not []. Free with rb_free. */
char *await_poll(rb_handle scorer);

/* Descriptors that this process has open. */
int open_fds(void);

/* The cases, by file. */
void life(void);
void feeding(void);
void waking(void);
void bad_arguments(void);
void bad_documents(void);
void checking(void);
void stale_and_unknown(void);
void limits(void);
void files(void);
void journal(void);
void judges(void);
void closing(void);
void threads(void);
void forking(void);
void masks(void);
void sigpipe(void);
void sigpipe_server(void);
void leaks(void);

#endif
