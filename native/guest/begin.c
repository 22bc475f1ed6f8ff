/*
 * The beginning of a node. The supervisor may take a snapshot of the guest first, from which many nodes start: until then, the guest has nothing that
 * belongs to one node.
 */
#include "guest.h"
#include <linux/random.h>
#include <sys/ioctl.h>
#include <time.h>

enum { ENTROPY = 64, PAUSE_MS = 10 };

/* Nodes that start from one snapshot must not draw the same random numbers. */
static void reseed(const char *bytes) {
  struct { struct rand_pool_info info; char bytes[ENTROPY]; } seed = {.info = {.entropy_count = 8 * ENTROPY, .buf_size = ENTROPY}};
  memcpy(seed.info.buf, bytes, ENTROPY);
  int fd = open("/dev/urandom", O_RDWR | O_CLOEXEC);
  if (fd < 0 || ioctl(fd, RNDADDENTROPY, &seed) < 0 || ioctl(fd, RNDRESEEDCRNG) < 0) fail("random numbers: %s", strerror(errno));
  close(fd);
}

/* "<seconds> <nanoseconds>" since 1970, a NUL, random bytes. Returns false if the message is a different one. */
static bool is_beginning(const struct guest_message *m) {
  long long seconds;
  long nanoseconds;
  if (m->type != 'C' || sscanf(m->data, "%lld %ld", &seconds, &nanoseconds) != 2) return false;
  const size_t head = strlen(m->data) + 1;
  if (m->length != head + ENTROPY) return false;
  reseed(m->data + head);
  return clock_settime(CLOCK_REALTIME, &(struct timespec){seconds, nanoseconds}) == 0;
}

int begin_node(void) {
  for (;;) {
    struct guest_message first = {.most = GUEST_PIECE};
    int fd = private_connect(), got;
    while ((got = guest_receive(fd, &first)) == 0) {}
    if (got > 0 && is_beginning(&first)) return guest_next(&first), fd;
    /* A snapshot is taken now: the connection's end shows the supervisor that nothing is on its way. */
    if (got > 0) guest_next(&first);
    close(fd);
    usleep(PAUSE_MS * 1000);
  }
}
