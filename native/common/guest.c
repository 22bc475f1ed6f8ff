#include "guest.h"
#include "io.h"
#include <errno.h>
#include <stdlib.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

void guest_head(char head[GUEST_HEAD], char type, size_t length) {
  head[0] = type;
  for (int i = 1; i < GUEST_HEAD; i++, length >>= 7) head[i] = (char)(length & 0x7f);
}

size_t guest_length(const char head[GUEST_HEAD]) {
  size_t length = 0;
  for (int i = GUEST_HEAD - 1; i > 0; i--) {
    if (head[i] & 0x80) return SIZE_MAX;
    length = length << 7 | (size_t)head[i];
  }
  return length;
}

bool guest_send(int fd, char type, const void *data, size_t length) {
  char head[GUEST_HEAD];
  guest_head(head, type, length);
  /* The kernel sends the head together with the data. */
  ssize_t sent;
  while ((sent = send(fd, head, sizeof head, MSG_NOSIGNAL | (length > 0 ? MSG_MORE : 0))) < 0 && errno == EINTR) {}
  return sent == sizeof head && send_all(fd, data, length);
}

int guest_receive(int fd, struct guest_message *m) {
  const bool in_head = m->got < GUEST_HEAD;
  char *at = in_head ? m->head + m->got : m->data + (m->got - GUEST_HEAD);
  size_t left = in_head ? GUEST_HEAD - m->got : m->length - (m->got - GUEST_HEAD);
  ssize_t got = recv(fd, at, left, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (got <= 0) return -1;
  m->got += (size_t)got;
  if (in_head && m->got == GUEST_HEAD) {
    m->type = m->head[0];
    m->length = guest_length(m->head);
    if (m->length > m->most) return -1;
    m->data = malloc(m->length + 1);
    if (!m->data) return -1;
    m->data[m->length] = 0;
  }
  return m->got >= GUEST_HEAD && m->got - GUEST_HEAD == m->length;
}

void guest_at_once(int fd) { setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)); }

void guest_next(struct guest_message *m) {
  free(m->data);
  m->data = NULL;
  m->got = 0;
}
