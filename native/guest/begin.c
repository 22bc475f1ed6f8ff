/*
 * The beginning of a node. The supervisor may take a snapshot of the guest first, from which many nodes start: until then, the guest has nothing that
 * belongs to one node.
 */
#include "guest.h"
#include <linux/random.h>
#include <sys/ioctl.h>
#include <time.h>

enum { ENTROPY = 64, PAUSE_MS = 10, MAX_WAIT_MS = 10000 };

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

/* The supervisor measures a pause, before it takes a snapshot. Returns false if the message is a different one. */
static bool is_pause(const struct guest_message *m, int fd) {
  if (m->type != 'M') return false;
  long ms = strtol(m->data, NULL, 10);
  if (ms < 0 || ms > MAX_WAIT_MS) return false;
  const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
  return guest_send(fd, 'M', "", 0);
}

/* Reads the first message after the pauses. Returns false at the connection's end. */
static bool first_message(struct guest_message *m, int fd) {
  for (;;) {
    int got = guest_receive(fd, m);
    if (got < 0) return false;
    if (got == 0) continue;
    if (!is_pause(m, fd)) return true;
    guest_next(m);
  }
}

int begin_node(void) {
  for (;;) {
    struct guest_message first = {.most = GUEST_PIECE};
    int fd = private_connect();
    bool received = first_message(&first, fd);
    if (received && is_beginning(&first)) return guest_next(&first), fd;
    /* A snapshot is taken now: the connection's end shows the supervisor that nothing is on its way. */
    if (received) guest_next(&first);
    close(fd);
    usleep(PAUSE_MS * 1000);
  }
}
