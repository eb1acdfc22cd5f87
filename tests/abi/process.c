/* What the library does to the process it lives in: closing with work in flight,
 * threads, forks, signals, descriptors. */
#include "harness.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void *score_until_closed(void *scorer) {
    char *out;
    int32_t code = rb_score_group(*(rb_handle *)scorer, GROUP, &out);
    if (code == RB_OK) { /* cut off: the statuses say so */
        CONTAINS(out, "cancelled");
        rb_free(out);
    } else {
        CHECK(code == RB_ERR_HANDLE || code == RB_ERR_CANCELLED);
    }
    return NULL;
}

static void *poll_until_closed(void *scorer) {
    int32_t fd;
    char *out;
    OK(rb_event_fd(*(rb_handle *)scorer, &fd));
    struct pollfd ready = {.fd = dup(fd), .events = POLLIN};
    CHECK(poll(&ready, 1, 30000) == 1);
    WANT(RB_ERR_HANDLE, rb_poll(*(rb_handle *)scorer, &out));
    close(ready.fd);
    return NULL;
}

/* A close ends what other threads wait for, soon, and leaves no handle. */
void closing(void) {
    rb_handle scorer = new_scorer(SLOW(60000));
    pthread_t scoring, polling;
    rb_ticket ticket;
    OK(rb_buffer_create(scorer, QUERY));
    OK(rb_score_submit(scorer, "{" QUERY_OF("other") ", \"responses\": [\"q7\", \"q0\"]}", &ticket));
    CHECK(pthread_create(&scoring, NULL, score_until_closed, &scorer) == 0);
    CHECK(pthread_create(&polling, NULL, poll_until_closed, &scorer) == 0);
    usleep(50000); /* let both begin; either order is allowed */
    OK(rb_scorer_close(scorer, 30000));
    CHECK(pthread_join(scoring, NULL) == 0 && pthread_join(polling, NULL) == 0);
    CHECK(rb_handles_open() == 0);

    scorer = new_scorer(SLOW(60000));
    OK(rb_scorer_close(scorer, -1)); /* nothing in flight: no waiting, for ever or not */
    scorer = new_scorer(EXACT);
    OK(rb_scorer_close(scorer, 0));
}

enum { WORKERS = 8, ROUNDS = 40 };
static rb_handle shared;

static void *work(void *number) {
    char group[256], wrong[64];
    int me = (int)(intptr_t)number;
    for (int i = 0; i < ROUNDS; i++) {
        char *out;
        snprintf(group, sizeof group,
                 "{\"query_id\": \"t%d\", \"query\": \"?\", \"ranked\": [\"q9\", \"q1\"], "
                 "\"responses\": [\"q7\", \"q0\", \"q%d\"]}",
                 me, i % 10);
        OK(rb_score_group(shared, group, &out));
        rb_free(out);
        OK(rb_stats(shared, &out));
        rb_free(out);
        /* The last error is this thread's own. */
        snprintf(wrong, sizeof wrong, "thread %d round %d", me, i);
        REFUSES(RB_ERR_NOT_FOUND, wrong, rb_buffer_get(shared, wrong, &out));
    }
    return NULL;
}

void threads(void) {
    pthread_t workers[WORKERS];
    shared = new_scorer(EXACT);
    for (intptr_t i = 0; i < WORKERS; i++)
        CHECK(pthread_create(&workers[i], NULL, work, (void *)i) == 0);
    for (int i = 0; i < WORKERS; i++)
        CHECK(pthread_join(workers[i], NULL) == 0);
    OK(rb_scorer_close(shared, 5000));
}

static void in_child(rb_handle scorer) {
    char *out;
    rb_handle handle;
    rb_ticket ticket;
    int32_t fd;
    WANT(RB_ERR_FORKED, rb_handles_open());
    REFUSES(RB_ERR_FORKED, "forked", rb_scorer_new(EXACT, &handle));
    WANT(RB_ERR_FORKED, rb_stats(scorer, &out));
    WANT(RB_ERR_FORKED, rb_buffer_create(scorer, QUERY));
    WANT(RB_ERR_FORKED, rb_buffer_get(scorer, "q", &out));
    WANT(RB_ERR_FORKED, rb_update(scorer, "q/0/0"));
    WANT(RB_ERR_FORKED, rb_score_submit(scorer, GROUP, &ticket));
    WANT(RB_ERR_FORKED, rb_cancel(scorer, 1));
    WANT(RB_ERR_FORKED, rb_event_fd(scorer, &fd));
    WANT(RB_ERR_FORKED, rb_poll(scorer, &out));
    WANT(RB_ERR_FORKED, rb_score_group(scorer, GROUP, &out));
    WANT(RB_ERR_FORKED, rb_group_open(scorer, GROUP, 1, &ticket));
    WANT(RB_ERR_FORKED, rb_group_add(scorer, 1, 0, "\"x\""));
    WANT(RB_ERR_FORKED, rb_group_close(scorer, 1));
    WANT(RB_ERR_FORKED, rb_snapshot(scorer, "x"));
    WANT(RB_ERR_FORKED, rb_restore(scorer, "x"));
    WANT(RB_ERR_FORKED, rb_journal(scorer, "x", NULL));
    WANT(RB_ERR_FORKED, rb_restore_from(scorer, "{}", &out));
    WANT(RB_ERR_FORKED, rb_inspect("x", NULL, &out));
    WANT(RB_ERR_FORKED, rb_sim_start("{}", &handle));
    WANT(RB_ERR_FORKED, rb_sim_url(1, &out));
    WANT(RB_ERR_FORKED, rb_sim_stop(1, 0));
    WANT(RB_ERR_FORKED, rb_scorer_close(scorer, 0));
    CHECK(rb_abi_version() == RB_ABI_VERSION && rb_version() != NULL);
    rb_free(NULL);
    _exit(0);
}

/* A child is refused everything and hurts nobody: its parent goes on. */
void forking(void) {
    rb_handle scorer = new_scorer(EXACT);
    char *out;
    OK(rb_buffer_create(scorer, QUERY));
    pid_t child = fork();
    if (child == 0)
        in_child(scorer);
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        FAIL("the child ended with status %#x", status);
    OK(rb_score_group(scorer, GROUP, &out));
    rb_free(out);
    OK(rb_scorer_close(scorer, 5000));
}

/* The signals a thread blocks, as the kernel sees them. */
static uint64_t blocked(const char *task) {
    char path[64], line[128];
    unsigned long long mask = 0;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/status", task);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "SigBlk: %llx", &mask) == 1)
            break;
    fclose(file);
    return mask;
}

#define BIT(signal) ((uint64_t)1 << ((signal) - 1))

/* The library's threads block the host's signals, and the host's threads what
 * they blocked before. */
void masks(void) {
    const uint64_t hosts = BIT(SIGPIPE) | BIT(SIGINT) | BIT(SIGTERM) | BIT(SIGALRM) | BIT(SIGUSR1);
    char main_thread[32], *out;
    int others = 0;
    rb_handle scorer = new_scorer(SLOW(5)); /* waiting calls make Go start threads */
    OK(rb_buffer_create(scorer, QUERY));
    OK(rb_score_group(scorer, GROUP, &out));
    rb_free(out);

    snprintf(main_thread, sizeof main_thread, "%d", (int)getpid());
    DIR *tasks = opendir("/proc/self/task");
    CHECK(tasks != NULL);
    for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
        if (task->d_name[0] == '.')
            continue;
        uint64_t mask = blocked(task->d_name);
        if (strcmp(task->d_name, main_thread) == 0) {
            CHECK((mask & hosts) == 0);
            continue;
        }
        others++;
        if ((mask & hosts) != hosts)
            FAIL("thread %s of the library blocks %#llx only", task->d_name, (unsigned long long)mask);
    }
    closedir(tasks);
    CHECK(others >= 2);
    OK(rb_scorer_close(scorer, 5000));
}

/* 1,000 groups over HTTP, on scorers that come and go, leave every descriptor and
 * handle as they were. */
void leaks(void) {
    rb_handle sim, scorer;
    char *url, *out, config[1024], group[256];
    int before = 0;
    for (int round = 0; round < 11; round++) {
        if (round == 1)
            before = open_fds(); /* Go's own epoll is there after the first */
        OK(rb_sim_start("{" QUALITIES "}", &sim));
        OK(rb_sim_url(sim, &url));
        snprintf(config, sizeof config,
                 "{" METHOD ", \"judge\": {\"base_url\": \"%s\", \"model\": \"sim\"}}", url);
        rb_free(url);
        scorer = new_scorer(config);
        for (int i = 0; i < 100; i++) {
            rb_ticket ticket;
            snprintf(group, sizeof group,
                     "{\"query_id\": \"q%d\", \"query\": \"?\", \"ranked\": [\"q9\", \"q1\"], "
                     "\"responses\": [\"q7\", \"q0\", \"q3\"]}",
                     i % 20);
            OK(rb_score_submit(scorer, group, &ticket));
        }
        for (int got = 0; got < 100;) {
            out = await_poll(scorer);
            for (char *at = out; (at = strstr(at, "{\"ticket\":")) != NULL; at++)
                got++;
            rb_free(out);
        }
        OK(rb_scorer_close(scorer, 5000));
        OK(rb_sim_stop(sim, 5000));
        CHECK(rb_handles_open() == 0);
    }
    if (open_fds() != before)
        FAIL("%d descriptors are open, %d were before 1,000 groups", open_fds(), before);
}
