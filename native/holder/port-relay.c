/* Connects a client of the service with a port of a node: the process of job_connect is in the node's namespaces, with the node's confinement. */
#include "port-relay.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { PATIENCE_S = 5 /* for a node whose packet filter drops the connection */, PIECE = 65536 };

static int connect_to(const struct sockaddr *address, socklen_t length) {
  struct timeval patience = {.tv_sec = PATIENCE_S}, none = {0};
  int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (connect(fd, address, length) == 0) {
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof none);
    return fd;
  }
  int problem = errno == EINPROGRESS ? ETIMEDOUT : errno;
  close(fd);
  errno = problem;
  return -1;
}

int port_connect(int port) {
  struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port), .sin6_addr = in6addr_loopback};
  int fd = connect_to((struct sockaddr *)&v4, sizeof v4), problem = errno;
  if (fd < 0 && problem == ECONNREFUSED) fd = connect_to((struct sockaddr *)&v6, sizeof v6);
  if (fd < 0) errno = problem;
  return fd;
}

/* One direction: what was read from `from` and not yet written to `to`. */
struct way { int from, to; size_t at, end; bool ended; char bytes[PIECE]; };

/* Moves bytes as far as possible without waiting. Returns false if a connection broke. */
static bool way_move(struct way *w) {
  for (;;) {
    while (w->at < w->end) {
      ssize_t sent = send(w->to, w->bytes + w->at, w->end - w->at, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0) return errno == EAGAIN || errno == EINTR;
      w->at += (size_t)sent;
    }
    if (w->ended) return true;
    ssize_t got = recv(w->from, w->bytes, sizeof w->bytes, MSG_DONTWAIT);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    w->at = 0;
    w->end = (size_t)got;
    if (got > 0) continue;
    w->ended = true;
    shutdown(w->to, SHUT_WR);
  }
}

static bool way_done(const struct way *w) { return w->ended && w->at == w->end; }

void port_relay(int a, int b) {
  static struct way there, back;
  there = (struct way){.from = a, .to = b};
  back = (struct way){.from = b, .to = a};
  while (!way_done(&there) || !way_done(&back)) {
    if (!way_move(&there) || !way_move(&back)) return;
    struct pollfd p[] = {{.fd = a}, {.fd = b}};
    if (there.at < there.end) p[1].events |= POLLOUT;
    else if (!there.ended) p[0].events |= POLLIN;
    if (back.at < back.end) p[0].events |= POLLOUT;
    else if (!back.ended) p[1].events |= POLLIN;
    /* A connection of which nothing is wanted would report its end again and again. */
    for (int i = 0; i < 2; i++)
      if (p[i].events == 0) p[i].fd = -1;
    if (poll(p, 2, -1) < 0 && errno != EINTR) return;
  }
}
