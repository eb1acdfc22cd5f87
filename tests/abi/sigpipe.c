/* A judge that hangs up in the middle of a request, in a host that left SIGPIPE
 * to its default: to die. */
#include "harness.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

static int listener;
static int hang_ups;

/* Accept, read a little, reset. The writer's next write meets a dead socket. */
static void *hang_up(void *unused) {
    const struct linger reset = {.l_onoff = 1, .l_linger = 0};
    char some[64];
    for (;;) {
        int peer = accept(listener, NULL, NULL);
        if (peer < 0)
            return unused;
        CHECK(read(peer, some, sizeof some) >= 0);
        setsockopt(peer, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        close(peer);
        hang_ups++;
    }
}

static int listen_anywhere(void) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(listener >= 0 && bind(listener, (struct sockaddr *)&address, length) == 0);
    CHECK(listen(listener, 64) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&address, &length) == 0);
    return ntohs(address.sin_port);
}

void sigpipe(void) {
    enum { SIZE = 2 << 20, GROUPS = 20 };
    char config[512], *out;
    pthread_t peer;
    signal(SIGPIPE, SIG_DFL); /* after loading: it replaces what Go installed */
    int port = listen_anywhere();
    CHECK(pthread_create(&peer, NULL, hang_up, NULL) == 0);

    snprintf(config, sizeof config,
             "{" METHOD ", \"judge\": {\"base_url\": \"http://127.0.0.1:%d/v1\", "
             "\"model\": \"m\", \"max_retries\": 0}}",
             port);
    rb_handle scorer = new_scorer(config);
    OK(rb_buffer_create(scorer, QUERY));
    char *group = malloc(SIZE + 256);
    CHECK(group != NULL);
    for (int i = 0; i < GROUPS; i++) { /* larger than a socket's buffer: several writes */
        strcpy(group, "{\"query_id\": \"q\", \"responses\": [\"");
        size_t at = strlen(group);
        memset(group + at, 'a' + i, SIZE);
        strcpy(group + at + SIZE, "\", \"x\"]}");
        OK(rb_score_group(scorer, group, &out));
        CONTAINS(out, "\"status\":[\"judge_failed\"");
        rb_free(out);
    }
    free(group);
    CHECK(hang_ups >= GROUPS);
    OK(rb_scorer_close(scorer, 5000));
    shutdown(listener, SHUT_RDWR);
    CHECK(pthread_join(peer, NULL) == 0);
    close(listener);
}
