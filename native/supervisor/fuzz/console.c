/* Output of a guest's serial line, as the patterns see it. The first byte gives the size of the pieces. */
#include "../vm.h"
#undef READY_MARK
#define READY_MARK "/dev/null"
#include "../console.c"

void fail(const char *format, ...) {
  (void)format;
  abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static bool compiled;
  if (size < 1) return 0;
  if (!compiled) {
    compile(&ready_pattern, "(^|[^a-z])login: $", REG_NOSUB, "ready");
    compile(&failed_pattern, "^labwright: boot failed( with ([0-9]+))?$", 0, "failed");
    compiled = true;
  }
  watching = watching_failure = true;
  marked = false;
  failure = 0;
  seen_length = 0;
  size_t piece = (size_t)data[0] + 1;
  for (size_t at = 1; at < size; at += piece) look_for_patterns((const char *)data + at, size - at < piece ? size - at : piece);
  if (seen_length >= sizeof seen || failure < 0 || failure > 255) abort();
  return 0;
}
