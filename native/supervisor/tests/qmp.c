/* Answers of the hypervisor are read as JSON: blanks, order and length do not matter. */
#include "../qmp.c"
#include "../../fuzz/check.h"

static char unplugged[64];

void fail(const char *format, ...) {
  fprintf(stderr, "%s\n", format);
  exit(1);
}
void port_unplugged(const char *device) { snprintf(unplugged, sizeof unplugged, "%s", device); }

/* A hypervisor that has sent this text and closed the connection. */
static void hypervisor(const char *lines) {
  int pair[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  CHECK(write(pair[1], lines, strlen(lines)) == (ssize_t)strlen(lines));
  /* Its side stays open: the next command can be sent. */
  if (qmp_fd >= 0) close(qmp_fd);
  qmp_fd = pair[0];
  filled = 0;
  gone = false;
  *unplugged = 0;
}

int main(void) {
  hypervisor("{\"QMP\":{\"version\":{}}}\r\n{\"return\":{}}\r\n");
  CHECK(qmp_open());
  hypervisor("{ \"QMP\": {} }\n{\"error\":{\"desc\":\"no\"}}\n");
  CHECK(!qmp_open());
  hypervisor("no JSON \"QMP\"\n{\"return\": {}}\n");
  CHECK(!qmp_open());

  hypervisor("{\"return\":{\"status\":\"completed\"}}\n");
  CHECK(qmp(-1, "{}") && !strcmp(qmp_returned("status"), "completed") && !*qmp_returned("other"));
  hypervisor("{ \"return\" : { \"x\" : \"\\\"status\\\": \\\"failed\\\"\", \"status\" : \"active\" } }\n");
  CHECK(qmp(-1, "{}") && !strcmp(qmp_returned("status"), "active"));
  hypervisor("{\"id\":1,\"return\":[1]}\n");
  CHECK(qmp(-1, "{}") && !*qmp_returned("status"));

  /* Reads a member that is far behind the length to which answers were cut in the past. */
  static char text[20000];
  int length = snprintf(text, sizeof text, "{\"return\": {\"pad\": \"%0*d\", \"status\": \"completed\"}}\n", 15000, 0);
  CHECK(length > 15000);
  hypervisor(text);
  CHECK(qmp(-1, "{}") && !strcmp(qmp_returned("status"), "completed"));

  hypervisor("{\"error\": {\"class\": \"GenericError\", \"desc\": \"the reason\"}}\n");
  CHECK(!qmp(-1, "{}") && !strcmp(qmp_problem, "the reason"));

  hypervisor("{\"event\":\"DEVICE_DELETED\",\"data\":{\"path\":\"/x\",\"device\":\"nic3\"}}\n{\"return\":{}}\n");
  CHECK(qmp(-1, "{}") && !strcmp(unplugged, "nic3"));
  hypervisor("{\"event\": \"RESUME\", \"data\": {\"device\": \"nic3\"}}\n{\"event\": \"DEVICE_DELETED\", \"data\": {}}\n{\"return\":{}}\n");
  CHECK(qmp(-1, "{}") && !*unplugged);
  return 0;
}
