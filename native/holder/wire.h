/* Bytes in and out; the README tells the protocol. */
#pragma once
#include "base.h"

/* Grown by mremap, and never copied into children, so that a node does not keep its lab's traffic alive. */
struct buffer { char *data; size_t start, end, size; };

void buffer_free(struct buffer *b);

/* Room for so many more bytes; answers where they go. */
char *buffer_reserve(struct buffer *b, size_t more);

/* Requests: fields of u32 length, bytes, NUL. The NUL makes a field a C string in place. What is malformed sets bad and reads as empty. */
struct reader { const char *at, *end; bool bad; };
struct list { uint32_t count; struct reader items; };

const char *take(struct reader *r, size_t *length);
const char *take_text(struct reader *r);
long take_number(struct reader *r, long max);

/* A count and then that many groups of `width` fields. */
struct list take_list(struct reader *r, uint32_t width);

/* The texts of a list as one block that ends with NULL, for exec. */
char **take_vector(struct list list);
