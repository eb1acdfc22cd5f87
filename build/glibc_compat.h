/* Included before every C file of the library, runtime/cgo's too.
 *
 * glibc 2.34 moved the pthread functions into libc.so and gave them a new symbol
 * version, so that a library built on a current distribution refuses to load on
 * older ones. These are the versions the functions were born with; glibc keeps
 * them for ever and they are the same code. With this and Go's own resolver
 * (tags netgo, osusergo) the library needs nothing newer than manylinux2014 has. */
#ifndef RB_GLIBC_COMPAT_H
#define RB_GLIBC_COMPAT_H

#if !defined(__ASSEMBLER__) && defined(__linux__)

#if defined(__x86_64__)
#define RB_GLIBC_BORN "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define RB_GLIBC_BORN "GLIBC_2.17"
#else
#error "RankBuffer is built for x86_64 and aarch64"
#endif

#define RB_BIND(function) __asm__(".symver " #function "," #function "@" RB_GLIBC_BORN)

RB_BIND(pthread_create);
RB_BIND(pthread_sigmask);
RB_BIND(pthread_key_create);
RB_BIND(pthread_setspecific);
RB_BIND(pthread_getattr_np);
RB_BIND(pthread_attr_getstack);
RB_BIND(pthread_attr_getstacksize);

#undef RB_BIND
#undef RB_GLIBC_BORN

#endif
#endif
