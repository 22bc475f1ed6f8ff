#include "text.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for `more` bytes and the NUL. After a failure nothing more is added, so that a text is at most cut at its end, never in its middle. */
static bool reserve(struct text *t, size_t more) {
  if (t->failed) return false;
  if (more < t->room - t->length) return true;
  size_t room = (t->length + more + 1) * 2;
  char *data = realloc(t->data, room);
  if (!data) return t->failed = true, false;
  t->data = data;
  t->room = room;
  return true;
}

void text_add(struct text *t, const void *data, size_t length) {
  if (!reserve(t, length)) return;
  if (length) memcpy(t->data + t->length, data, length);
  t->length += length;
  t->data[t->length] = 0;
}

static void format_into(struct text *t, const char *format, va_list args) {
  for (size_t more = 127; reserve(t, more);) {
    va_list copy;
    va_copy(copy, args);
    int length = vsnprintf(t->data + t->length, t->room - t->length, format, copy);
    va_end(copy);
    if (length >= 0 && (size_t)length < t->room - t->length) {
      t->length += (size_t)length;
      return;
    }
    t->data[t->length] = 0;
    if (length < 0) t->failed = true;
    more = (size_t)length;
  }
}

void text_format(struct text *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  format_into(t, format, args);
  va_end(args);
}

void text_field(struct text *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  format_into(t, format, args);
  va_end(args);
  text_add(t, "", 1);
}

void text_free(struct text *t) {
  free(t->data);
  *t = (struct text){0};
}
