/* Runs one case by name, or lists them. Exit status 0: the case passed. */
#include "harness.h"

#include <dirent.h>
#include <poll.h>

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"life", life},
    {"feeding", feeding},
    {"waking", waking},
    {"bad_arguments", bad_arguments},
    {"bad_documents", bad_documents},
    {"checking", checking},
    {"stale_and_unknown", stale_and_unknown},
    {"limits", limits},
    {"files", files},
    {"journal", journal},
    {"judges", judges},
    {"closing", closing},
    {"threads", threads},
    {"forking", forking},
    {"masks", masks},
    {"sigpipe", sigpipe},
    {"sigpipe_server", sigpipe_server},
    {"leaks", leaks},
};

enum { CASES = sizeof cases / sizeof cases[0] };

int main(int argc, char **argv) {
    if (argc != 2)
        FAIL("usage: %s CASE | --list", argv[0]);
    if (strcmp(argv[1], "--list") == 0) {
        for (int i = 0; i < CASES; i++)
            puts(cases[i].name);
        return 0;
    }
    for (int i = 0; i < CASES; i++) {
        if (strcmp(argv[1], cases[i].name) != 0)
            continue;
        CHECK(rb_abi_version() == RB_ABI_VERSION);
        cases[i].run();
        if (rb_handles_open() != 0)
            FAIL("%d handles are open at the end", rb_handles_open());
        return 0;
    }
    FAIL("no case %s", argv[1]);
}

rb_handle new_scorer(const char *config) {
    rb_handle scorer = 0;
    OK(rb_scorer_new(config, &scorer));
    CHECK(scorer != 0);
    return scorer;
}

void await_event(rb_handle scorer) {
    int32_t fd = -1;
    OK(rb_event_fd(scorer, &fd));
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    if (poll(&ready, 1, 30000) != 1)
        FAIL("nothing completed within 30 s");
}

char *await_poll(rb_handle scorer) {
    for (;;) {
        char *completions;
        await_event(scorer);
        OK(rb_poll(scorer, &completions));
        if (strcmp(completions, "[]") != 0)
            return completions;
        rb_free(completions); /* woken for nothing, which is allowed */
    }
}

int open_fds(void) {
    DIR *dir = opendir("/proc/self/fd");
    CHECK(dir != NULL);
    int count = 0;
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count - 3; /* ".", ".." and the directory itself */
}
