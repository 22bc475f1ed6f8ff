/* The wire format of the holder: buffers, requests of fields, replies of frames. holder/README.md describes the protocol. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A queue of bytes. It grows by mremap. Child processes get no copy of it, so that a node does not keep its lab's traffic in memory. */
struct buffer { char *data; size_t start, end, size; };

void buffer_free(struct buffer *b);

/* Makes room for `more` bytes. Returns where they go. */
char *buffer_reserve(struct buffer *b, size_t more);

enum { FRAME_HEAD = 5 /* bytes before a frame's data: its length, its type */ };

/* Writes the head of a frame with `length` bytes of data. */
void frame_head(char head[FRAME_HEAD], char type, size_t length);
void frame_add(struct buffer *b, char type, const void *data, size_t length);

/*
 * Reads fields of a request: u32 length, bytes, NUL. The NUL makes a field a C string in place. A malformed field sets `bad`; from then on each field
 * reads as empty.
 */
struct reader { const char *at, *end; bool bad; };
struct list { uint32_t count; struct reader items; };

const char *reader_bytes(struct reader *r, size_t *length);
const char *reader_text(struct reader *r);
/* Reads a decimal number from 0 to max. */
long reader_number(struct reader *r, long max);
/* Reads a count and then that many groups of `width` fields. */
struct list reader_list(struct reader *r, uint32_t width);

/* Returns the texts of a list as one block for exec: a vector that ends with NULL. */
char **list_to_vector(struct list list);
