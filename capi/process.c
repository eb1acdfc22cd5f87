/* What concerns the process or the thread rather than a handle: forks, signals
 * and the last error. Plain C, so that it works where Go must not run. */
#include "abi.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Written once, in the child, before anything else can run there. */
static volatile sig_atomic_t forked;

static void in_forked_child(void) { forked = 1; }

int abi_forked(void) { return forked; }

/* The calling thread's last error, or NULL. A pointer rather than an array: Go's
 * code makes the library's thread-local storage static, and dlopen finds room for
 * some 1.5 KB of that only. */
static __thread char *last_error;

/* Its destructor frees the text when the thread ends. */
static pthread_key_t last_error_key;

static void forget(void *text) {
    last_error = NULL; /* another destructor may still call the library */
    free(text);
}

/* Go's threads inherit the signal mask of the thread that loads the library, at
 * the moment Go's own constructor starts the first of them. Two constructors
 * around that one lend them a full mask: Go takes back what it needs (faults,
 * preemption, profiling) and keeps the rest blocked. So no handler of the host
 * runs on a Go stack, and SIGPIPE, which goes to the writing thread alone, stays
 * pending instead of killing a host that set it to SIG_DFL; the write returns
 * EPIPE as everywhere else.
 *
 * Prioritised constructors run before the others; the rest run in link order,
 * and Go links its own object first. Were that to change, the mask would be
 * given back too early and only this protection would be lost. */
static sigset_t loader_mask;

__attribute__((constructor(101))) static void before_go(void) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &loader_mask);
}

__attribute__((constructor)) static void after_go(void) {
    pthread_sigmask(SIG_SETMASK, &loader_mask, NULL);
    pthread_atfork(NULL, NULL, in_forked_child);
    pthread_key_create(&last_error_key, forget);
}

int32_t abi_set_error(int32_t code, const char *json, size_t length) {
    char *copy = realloc(last_error, length + 1);
    if (copy == NULL)
        return code;
    memcpy(copy, json, length);
    copy[length] = '\0';
    last_error = copy;
    pthread_setspecific(last_error_key, copy);
    return code;
}

const char *rb_last_error(void) { return last_error != NULL ? last_error : ""; }
