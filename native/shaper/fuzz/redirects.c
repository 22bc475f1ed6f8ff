/* The lines of `labwright-shaper redirect`. */
#include "../../common/netlink.h"
#include <stdio.h>
#define netlink_do checked_request
/* A problem is formatted, but not printed. */
#define dprintf(fd, ...) ((void)snprintf(problem, sizeof problem, __VA_ARGS__))
static char problem[256];
static int checked_request(int fd, struct netlink_request *r);
#include "../redirect.c"

/* The kernel is not asked. */
static int checked_request(int fd, struct netlink_request *r) {
  if (r->full) abort();
  return fd < 0 ? EBADF : 0;
}
int device_index(const char *name) { return strlen(name) < 16 ? (unsigned char)name[0] % 4 : 0; }
int group_request(int fd, unsigned short type, int index, unsigned flags, uint32_t group) {
  (void)type, (void)index, (void)flags, (void)group;
  return fd < 0 ? EBADF : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  *(char *)mempcpy(text, data, size) = 0;
  redirects(text);
  free(text);
  return 0;
}
