/* Peers that hang up in the middle, in a host that left SIGPIPE to its default,
 * which is to die. A goodbye (shutdown) and then a reset make the next write fail
 * with EPIPE and raise SIGPIPE; a reset alone would only be ECONNRESET. */
#include "harness.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

static void hang_up(int peer) {
    const struct linger reset = {.l_onoff = 1, .l_linger = 0};
    CHECK(setsockopt(peer, SOL_SOCKET, SO_LINGER, &reset, sizeof reset) == 0);
    shutdown(peer, SHUT_WR);
    close(peer);
}

static struct sockaddr_in loopback(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static int listener;
static int hang_ups;

static void *hang_up_on_all(void *unused) {
    char some[64];
    for (;;) {
        int peer = accept(listener, NULL, NULL);
        if (peer < 0)
            return unused;
        CHECK(read(peer, some, sizeof some) >= 0);
        hang_up(peer);
        hang_ups++;
    }
}

static int listen_anywhere(void) {
    struct sockaddr_in address = loopback(0);
    socklen_t length = sizeof address;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(listener >= 0 && bind(listener, (struct sockaddr *)&address, length) == 0);
    CHECK(listen(listener, 64) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&address, &length) == 0);
    return ntohs(address.sin_port);
}

/* A judge hangs up on requests of 2 MB, which take several writes. */
void sigpipe(void) {
    enum { SIZE = 2 << 20, GROUPS = 20 };
    char config[512], *out;
    pthread_t judge;
    signal(SIGPIPE, SIG_DFL); /* after loading: it replaces what Go installed */
    int port = listen_anywhere();
    CHECK(pthread_create(&judge, NULL, hang_up_on_all, NULL) == 0);

    snprintf(config, sizeof config,
             "{" METHOD ", \"judge\": {\"base_url\": \"http://127.0.0.1:%d/v1\", "
             "\"model\": \"m\", \"max_retries\": 0}}",
             port);
    rb_handle scorer = new_scorer(config);
    OK(rb_buffer_create(scorer, QUERY));
    char *group = malloc(SIZE + 256);
    CHECK(group != NULL);
    for (int i = 0; i < GROUPS; i++) {
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
    CHECK(pthread_join(judge, NULL) == 0);
    close(listener);
}

/* Callers hang up on the simulated judge before it has answered them. */
void sigpipe_server(void) {
    enum { CALLERS = 1000 };
    const char request[] = "GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n";
    rb_handle sim;
    char *url;
    signal(SIGPIPE, SIG_DFL);
    OK(rb_sim_start("{" QUALITIES "}", &sim));
    OK(rb_sim_url(sim, &url));
    struct sockaddr_in address = loopback(atoi(strrchr(url, ':') + 1));
    rb_free(url);
    for (int i = 0; i < CALLERS; i++) {
        int caller = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CHECK(caller >= 0);
        CHECK(connect(caller, (struct sockaddr *)&address, sizeof address) == 0);
        for (int k = 0; k < 4; k++) /* the first answer may yet be in time */
            CHECK(send(caller, request, sizeof request - 1, MSG_NOSIGNAL) > 0);
        hang_up(caller);
    }
    OK(rb_sim_url(sim, &url)); /* still there */
    rb_free(url);
    OK(rb_sim_stop(sim, 5000));
}
