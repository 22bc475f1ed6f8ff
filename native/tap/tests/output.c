/* The blocks of a capture are valid for texts of any length. */
#include "../output.c"
#include "../../fuzz/check.h"
#include <sys/mman.h>

_Noreturn void end(const char *how, const char *words) {
  fprintf(stderr, "%s: %s\n", how, words);
  exit(1);
}

static uint32_t read32(const uint8_t *at) {
  uint32_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

static uint16_t read16(const uint8_t *at) {
  uint16_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

/* Returns the length of the interface block's option, checking that the options fill the block exactly. */
static size_t option_of(const uint8_t *file, size_t length, uint16_t wanted) {
  size_t found = 0, begin = read32(file + 4);
  CHECK(read32(file + begin) == 1);
  size_t size = read32(file + begin + 4), at = begin + 16;
  CHECK(begin + size == length && read32(file + begin + size - 4) == size);
  while (read16(file + at) != 0) {
    size_t bytes = read16(file + at + 2);
    if (read16(file + at) == wanted) found = bytes;
    at += 4 + ((bytes + 3) & ~(size_t)3);
    CHECK(at < begin + size);
  }
  CHECK(at + 4 == begin + size - 4);
  return found;
}

static void check_texts(size_t filter_length, size_t name_length, size_t description_length) {
  char *texts[3] = {0};
  const size_t lengths[] = {filter_length, name_length, description_length};
  for (int i = 0; i < 3; i++) {
    texts[i] = calloc(1, lengths[i] + 1);
    memset(texts[i], 'x', lengths[i]);
  }
  int file = memfd_create("capture", 0);
  CHECK(dup2(file, 1) == 1 && ftruncate(1, 0) == 0 && lseek(1, 0, SEEK_SET) == 0);
  output_open(&(struct output_options){.filter = texts[0], .name = texts[1], .description = texts[2], .snaplen = 96, .pipe = true});
  output_flush();
  size_t length = (size_t)lseek(1, 0, SEEK_CUR);
  uint8_t *bytes = malloc(length);
  CHECK(pread(1, bytes, length, 0) == (ssize_t)length);
  size_t most = UINT16_MAX;
  CHECK(option_of(bytes, length, 2) == (name_length < most ? name_length : most));
  CHECK(option_of(bytes, length, 3) == (description_length < most ? description_length : most));
  CHECK(option_of(bytes, length, 11) == (filter_length == 0 ? 0 : filter_length < most - 1 ? filter_length + 1 : most));
  free(bytes);
  for (int i = 0; i < 3; i++) free(texts[i]);
  close(file);
}

int main(void) {
  check_texts(0, 4, 0);
  check_texts(10, 4, 7);
  check_texts(65534, 65535, 65535);
  check_texts(65535, 4, 65536);
  check_texts(65536, 65536, 4);
  check_texts(200000, 200000, 200000);
  return 0;
}
