/* Connects a client of the service with a UDP port of a node. On the connection each datagram has a head of two bytes: its length, little-endian. */
#include "port-relay.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEAD = 2, LARGEST = 65535 };

static int connect_to(bool v6, int port) {
  struct sockaddr_in a4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port), .sin6_addr = in6addr_loopback};
  int fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (connect(fd, v6 ? (struct sockaddr *)&a6 : (struct sockaddr *)&a4, v6 ? sizeof a6 : sizeof a4) == 0) return fd;
  int problem = errno;
  close(fd);
  errno = problem;
  return -1;
}

int datagrams_connect(int port) {
  int fd = connect_to(false, port);
  return fd < 0 ? connect_to(true, port) : fd;
}

/* Bytes of the connection: `at` to `end` are not yet used. */
struct frame { size_t at, end; unsigned char bytes[HEAD + LARGEST]; };

static size_t length_of(const struct frame *f) { return f->bytes[0] | (size_t)f->bytes[1] << 8; }

/* Reads more of the datagram from the client. Returns 1 if it is complete, 0 if more is to come, -1 if the client has gone. */
static int take(int client, struct frame *in) {
  for (;;) {
    size_t wanted = in->end < HEAD ? HEAD : HEAD + length_of(in);
    if (in->end >= HEAD && in->end == wanted) return 1;
    ssize_t got = recv(client, in->bytes + in->end, wanted - in->end, MSG_DONTWAIT);
    if (got < 0) return errno == EAGAIN || errno == EINTR ? 0 : -1;
    if (got == 0) return -1;
    in->end += (size_t)got;
  }
}

/* Sends what is left of the datagram to the client. Returns false if the client has gone. */
static bool give(int client, struct frame *out) {
  while (out->at < out->end) {
    ssize_t sent = send(client, out->bytes + out->at, out->end - out->at, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    out->at += (size_t)sent;
  }
  return true;
}

/* A node's side: a program may listen on the IPv6 loopback address alone. `repeated`: the last datagram was sent to both addresses. */
struct side { int fd, port; bool answered, is_v6, repeated; };

static void send_datagram(const struct side *s, const struct frame *in) {
  /* A datagram that the socket does not take now is lost, as datagrams may be. */
  (void)!send(s->fd, in->bytes + HEAD, length_of(in), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/*
 * Tries the other address if nothing has ever answered. It gets the last datagram, too, but not again after both have refused it. The program may start
 * later than its first sender, so the next datagram begins at the other address again.
 */
static void turn(struct side *s, const struct frame *last) {
  if (s->answered) return;
  int fd = connect_to(!s->is_v6, s->port);
  if (fd < 0) return;
  s->is_v6 = !s->is_v6;
  dup3(fd, s->fd, O_CLOEXEC);
  close(fd);
  if (s->repeated) return;
  s->repeated = true;
  send_datagram(s, last);
}

void datagrams_relay(int client, int fd, int port) {
  static struct frame in, out;
  struct side node = {.fd = fd, .port = port};
  bool complete = false;
  for (;;) {
    struct pollfd p[] = {{.fd = client, .events = POLLIN}, {.fd = node.fd, .events = POLLIN}};
    if (out.at < out.end) p[0].events |= POLLOUT, p[1].fd = -1;
    if (poll(p, 2, -1) < 0 && errno != EINTR) return;
    if (!give(client, &out)) return;
    if (p[0].revents & (POLLIN | POLLHUP | POLLERR)) {
      if (complete) in.end = 0, complete = false;
      int state = take(client, &in);
      if (state < 0) return;
      complete = state > 0;
      if (complete) {
        node.repeated = false;
        send_datagram(&node, &in);
      }
    }
    if (out.at < out.end) continue;
    ssize_t got = recv(node.fd, out.bytes + HEAD, LARGEST, MSG_DONTWAIT);
    if (got < 0) {
      if (errno == ECONNREFUSED && complete) turn(&node, &in);
      continue;
    }
    node.answered = true;
    out.bytes[0] = (unsigned char)(got & 0xff), out.bytes[1] = (unsigned char)(got >> 8);
    out.at = 0, out.end = HEAD + (size_t)got;
    if (!give(client, &out)) return;
  }
}
