/* Lines of the hypervisor. */
#include "../qmp.c"

static char device[32];
void fail(const char *format, ...) {
  (void)format;
  abort();
}
void port_unplugged(const char *name) { snprintf(device, sizeof device, "%s", name); }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int pair[2];
  if (size > 60000 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) < 0) return 0;
  if (write(pair[1], data, size) != (ssize_t)size || shutdown(pair[1], SHUT_WR) < 0) abort();
  qmp_fd = pair[0];
  filled = 0;
  gone = false;
  if (qmp_open() && qmp(-1, "{\"execute\":\"query-migrate\"}")) (void)!strlen(qmp_returned("status"));
  if (qmp_events() && !gone) abort(); /* it has hung up */
  close(pair[0]), close(pair[1]);
  return 0;
}
