/* Text that grows. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* `data` ends with a NUL that `length` does not count; NULL while it is empty. `failed`: a piece is missing because there was no memory for it. */
struct text { char *data; size_t length, room; bool failed; };

void text_add(struct text *t, const void *data, size_t length);
__attribute__((format(printf, 2, 3))) void text_format(struct text *t, const char *format, ...);
/* Adds a text and its final NUL, and counts the NUL in `length`. Replies of the holder separate their texts so. */
__attribute__((format(printf, 2, 3))) void text_field(struct text *t, const char *format, ...);
void text_free(struct text *t);
