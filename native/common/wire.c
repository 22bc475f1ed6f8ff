#include "wire.h"
#include "memory.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void buffer_free(struct buffer *b) {
  if (b->data) munmap(b->data, b->size);
  *b = (struct buffer){0};
}

char *buffer_reserve(struct buffer *b, size_t more) {
  if (b->start == b->end) b->start = b->end = 0;
  if (b->end + more > b->size && b->start > 0) {
    memmove(b->data, b->data + b->start, b->end - b->start);
    b->end -= b->start;
    b->start = 0;
  }
  if (b->end + more > b->size) {
    size_t size = b->size ? b->size : 4096;
    while (size < b->end + more) size *= 2;
    if (b->data) {
      b->data = need(mremap(b->data, b->size, size, MREMAP_MAYMOVE));
    } else {
      b->data = need(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
      madvise(b->data, size, MADV_DONTFORK);
    }
    b->size = size;
  }
  return b->data + b->end;
}

void frame_head(char head[FRAME_HEAD], char type, size_t length) {
  uint32_t bytes = (uint32_t)length + 1; /* the type counts */
  memcpy(head, &bytes, sizeof bytes);
  head[sizeof bytes] = type;
}

void frame_add(struct buffer *b, char type, const void *data, size_t length) {
  char *at = buffer_reserve(b, FRAME_HEAD + length);
  frame_head(at, type, length);
  if (length) memcpy(at + FRAME_HEAD, data, length);
  b->end += FRAME_HEAD + length;
}

const char *reader_bytes(struct reader *r, size_t *length) {
  uint32_t n = 0;
  *length = 0;
  if (!r->bad && (size_t)(r->end - r->at) >= sizeof n) memcpy(&n, r->at, sizeof n);
  else r->bad = true;
  if (r->bad || (size_t)(r->end - r->at) - sizeof n <= n || r->at[sizeof n + n] != 0) {
    r->bad = true;
    return "";
  }
  const char *data = r->at + sizeof n;
  r->at = data + n + 1;
  *length = n;
  return data;
}

const char *reader_text(struct reader *r) {
  size_t length;
  const char *text = reader_bytes(r, &length);
  if (strlen(text) != length) r->bad = true;
  return r->bad ? "" : text;
}

long reader_number(struct reader *r, long max) {
  const char *text = reader_text(r);
  char *end;
  errno = 0;
  long value = strtol(text, &end, 10);
  if (*text < '0' || *text > '9' || *end || errno || value > max) r->bad = true;
  return r->bad ? 0 : value;
}

struct list reader_list(struct reader *r, uint32_t width) {
  struct list list = {.count = (uint32_t)reader_number(r, 1 << 20)};
  list.items = *r;
  size_t length;
  for (uint32_t i = 0; i < list.count * width && !r->bad; i++) reader_bytes(r, &length);
  return list;
}

char **list_to_vector(struct list list) {
  size_t bytes = (size_t)(list.items.end - list.items.at);
  struct reader r = list.items;
  for (uint32_t i = 0; i < list.count; i++) reader_text(&r);
  bytes -= (size_t)(list.items.end - r.at);
  char **vector = need(malloc((list.count + 1) * sizeof *vector + bytes));
  char *at = (char *)(vector + list.count + 1);
  for (uint32_t i = 0; i < list.count; i++) {
    const char *text = reader_text(&list.items);
    vector[i] = at;
    at = stpcpy(at, text) + 1;
  }
  vector[list.count] = NULL;
  return vector;
}
