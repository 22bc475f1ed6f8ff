/* A compiled filter (up to the first line end) and a packet for it. */
#include "../filter.c"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const uint8_t *end = memchr(data, '\n', size);
  size_t length = end ? (size_t)(end - data) : size;
  char *text = malloc(length + 1);
  if (length) memcpy(text, data, length);
  text[length] = 0;
  struct program p = {0};
  bool good = read_program(text, &p);
  free(text);
  if (good && end) {
    uint32_t captured = (uint32_t)(size - length - 1);
    uint8_t *packet = malloc(captured + (captured == 0));
    if (captured) memcpy(packet, end + 1, captured);
    run_program(&p, packet, captured + 4, captured);
    free(packet);
  }
  free(p.code);
  return 0;
}
