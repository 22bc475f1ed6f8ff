/* A malformed line changes nothing. */
#include "../../common/netlink.h"
#include "../../fuzz/check.h"
#define netlink_do counted_request
static int requests_made;
static int counted_request(int fd, struct netlink_request *r) {
  (void)fd, (void)r;
  requests_made++;
  return 0;
}
#include "../redirect.c"

/* Devices of up to 15 characters that begin with n. */
int device_index(const char *name) { return *name == 'n' && strlen(name) < IFNAMSIZ ? 3 : 0; }
int group_request(int fd, unsigned short type, int index, unsigned flags, uint32_t group) {
  (void)fd, (void)type, (void)index, (void)flags;
  requests_made++;
  return group == 67 ? 0 : ENODEV;
}

static int requests_of(const char *lines) {
  char *text = strdup(lines);
  requests_made = 0;
  int code = redirects(text);
  free(text);
  return code == 0 ? requests_made : -1;
}

int main(void) {
  CHECK(requests_of("") == 0);
  CHECK(requests_of("n1i0\n") == 1);
  CHECK(requests_of("n1i0 n2i0\nn2i0 n1i0\n") == 4);
  CHECK(requests_of("n1i0 -\n") == 1);
  CHECK(requests_of("group 67 up\nn1i0\n") == 2);
  CHECK(requests_of("x1 n2i0\n") == -1 && requests_made == 0);
  /* A name of 18 characters is refused; it is not read as a name of 15 and another of 3. */
  CHECK(requests_of("n12345678901234n12\n") == -1 && requests_made == 0);
  CHECK(requests_of("n1i0 n2i0 n3i0\n") == -1 && requests_made == 0);
  CHECK(requests_of("n1i0 n2i0 n3i0 n4i0\n") == -1 && requests_made == 0);
  char missing[] = "x1y1\n", long_name[] = "n123456789012345678\n", none[] = "";
  CHECK(plain_frames(none) == 0 && plain_frames(missing) == 1 && plain_frames(long_name) == 1);
  CHECK(requests_of("group 67\n") == -1 && requests_made == 0);
  CHECK(requests_of("group 4294967363 up\n") == -1 && requests_made == 0); /* 67 in 32 bits */
  return 0;
}
