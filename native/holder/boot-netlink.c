/* Sends requests to the kernel, one at a time. */
#include "boot.h"
#include <unistd.h>

static int fd = -1;

bool request_done(struct netlink_request *r) {
  if (fd < 0) fd = netlink_open(NETLINK_ROUTE);
  return fd >= 0 && netlink_do(fd, r) == 0;
}

void requests_end(void) {
  if (fd >= 0) close(fd);
  fd = -1;
}
