/* The lines of `labwright-shaper redirect`. */
#include "../redirect.c"
#include <fcntl.h>

/* What the kernel would answer. */
int device_index(const char *name) { return strlen(name) < 16 ? (unsigned char)name[0] % 4 : 0; }
int requested(int fd, const struct nlmsghdr *message) {
  if (message->nlmsg_len > sizeof(struct request)) abort();
  return fd < 0 ? EBADF : 0;
}
int group_request(int fd, unsigned short type, int index, unsigned flags, uint32_t group) {
  (void)type, (void)index, (void)flags, (void)group;
  return fd < 0 ? EBADF : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static int quiet;
  if (!quiet) quiet = dup2(open("/dev/null", O_WRONLY), 2) == 2;
  char *text = malloc(size + 1);
  *(char *)mempcpy(text, data, size) = 0;
  redirects(text);
  free(text);
  return 0;
}
