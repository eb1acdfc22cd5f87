/* What the C half and the Go half of the ABI share. Not installed. */
#ifndef RB_ABI_H
#define RB_ABI_H

#include <stddef.h>

#include "rankbuffer.h"

/* The release; the build passes it. */
#ifndef RB_VERSION
#define RB_VERSION "0+dev"
#endif

/* Keep length bytes of JSON as this thread's last error and return code. */
int32_t abi_set_error(int32_t code, const char *json, size_t length);

/* 1 in a child forked after the library was loaded. */
int abi_forked(void);

#endif /* RB_ABI_H */
