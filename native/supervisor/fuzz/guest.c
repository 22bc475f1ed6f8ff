/* Reports of a node's own kernel, in the supervisor. */
#include "../guest.c"
#include "../../fuzz/check.h"

int terminal_fd = -1;
static bool ready;
static int code;

void fail(const char *format, ...) {
  (void)format;
  abort();
}
void ports_report(void) {}
void save_state(void) {}
bool taking_snapshot(void) { return false; }
bool is_ready(void) { return ready; }
void mark_ready(void) { ready = true; }
void guest_has_failed(int value) {
  CHECK(value > 0 && value < 256);
  code = value;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int pair[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
  size_t length = size < 65536 ? size : 65536;
  CHECK(send(pair[1], data, length, MSG_NOSIGNAL) == (ssize_t)length);
  close(pair[1]);
  ready = false;
  code = 0;
  guest_next(&input);
  guest_fd = pair[0];
  connected = true;
  for (size_t i = 0; i <= 2 * length + 2 && connected; i++) guest_events();
  CHECK(!connected);
  return 0;
}
