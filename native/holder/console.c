/* One ring per node is its scrollback and the queue of all its viewers. */
#include "lab.h"
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* Returns where a new viewer begins. A scrollback that lost its beginning starts at a line or an escape sequence, never inside one. */
uint64_t scrollback_start(const struct node *n) {
  if (n->total - n->first <= RING) return n->first;
  for (uint64_t at = n->total - RING; at < n->total; at++) {
    if (n->ring[at % RING] == '\n') return at + 1;
    if (n->ring[at % RING] == '\033') return at;
  }
  return n->total - RING;
}

void viewer_flush(struct client *c) {
  struct node *n = c->node;
  if (n->total - c->at > RING) {
    c->lost += n->total - RING - c->at;
    c->at = n->total - RING;
  }
  if (c->lost > 0 && c->out.start == c->out.end) {
    char *at = buffer_reserve(&c->out, 128);
    c->out.end += (size_t)sprintf(at, "\r\n[labwright: %llu bytes of output lost]\r\n", (unsigned long long)c->lost);
    c->lost = 0;
    return;
  }
  uint64_t end = c->until < n->total ? c->until : n->total;
  while (c->at < end) {
    size_t from = c->at % RING, length = end - c->at;
    if (length > RING - from) length = RING - from;
    ssize_t sent = send(c->source.fd, n->ring + from, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent <= 0) break;
    c->at += (uint64_t)sent;
  }
  if (c->at == n->total) c->lagging = false;
}

bool viewer_behind(const struct client *c) {
  return c->lost > 0 || c->at < (c->until < c->node->total ? c->until : c->node->total);
}

/* Returns how many bytes may be read from the node without overwriting bytes that a viewer has not received yet. */
static size_t ring_room(const struct node *n) {
  uint64_t behind = 0;
  for (struct client *c = clients; c; c = c->next)
    if (c->mode == VIEWING && c->node == n && !c->lagging && n->total - c->at > behind) behind = n->total - c->at;
  return behind >= RING ? 0 : RING - behind;
}

void viewers_flush(struct node *n) {
  for (struct client *c = clients, *next; c; c = next) {
    next = c->next;
    if (c->mode == VIEWING && c->node == n) client_update(c);
  }
  if (n->paused && ring_room(n) >= RING / 2) {
    n->paused = false;
    timer_stop(&n->stall);
    node_update(n);
  }
}

/* A viewer that has not read within STALL_MS no longer holds the node back: it loses bytes until it has caught up. */
static void node_stalled(struct timer *t) {
  struct node *n = container_of(t, struct node, stall);
  for (struct client *c = clients; c; c = c->next)
    if (c->mode == VIEWING && c->node == n && n->total - c->at > RING / 2) c->lagging = true;
  n->paused = false;
  node_update(n);
}

static void ring_make(struct node *n) {
  if (n->ring) return;
  n->ring = need(mmap(NULL, RING, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  madvise(n->ring, RING, MADV_DONTFORK);
}

/* Reads the node's output; false at its end. */
bool pty_read(struct node *n, bool even_if_viewers_lag) {
  for (size_t taken = 0; taken < RING;) {
    size_t room = even_if_viewers_lag ? RING : ring_room(n), from = n->total % RING;
    if (room == 0) {
      n->paused = true;
      timer_start(&n->stall, STALL_MS, node_stalled);
      break;
    }
    ring_make(n);
    struct iovec parts[2] = {{n->ring + from, RING - from < room ? RING - from : room}, {n->ring, 0}};
    parts[1].iov_len = room - parts[0].iov_len;
    ssize_t got = readv(n->pty.fd, parts, 2);
    if (got <= 0) return got < 0 && (errno == EAGAIN || errno == EINTR);
    n->total += (uint64_t)got;
    taken += (size_t)got;
  }
  return true;
}

void console_note(struct node *n, const char *text) {
  ring_make(n);
  for (; *text; text++) n->ring[n->total++ % RING] = *text;
}

static void pty_write(struct node *n) {
  while (n->input_at < n->input_end) {
    ssize_t sent = write(n->pty.fd, n->input + n->input_at, n->input_end - n->input_at);
    if (sent < 0 && errno == EAGAIN) return;
    n->input_at = sent > 0 ? n->input_at + (size_t)sent : n->input_end;
  }
  free(n->input);
  n->input = NULL;
  n->input_at = n->input_end = 0;
}

void pty_ready(struct source *s, uint32_t events) {
  struct node *n = container_of(s, struct node, pty);
  if (events & EPOLLOUT) pty_write(n);
  bool open = !(events & (EPOLLIN | EPOLLHUP | EPOLLERR)) || pty_read(n, false);
  /* The node's init holds the other side open. An end of file therefore means that init is dying, which SIGCHLD reports. */
  if (!open) source_watch(s, 0);
  else node_update(n);
  viewers_flush(n);
}

void node_update(struct node *n) {
  if (n->pty.fd >= 0) source_watch(&n->pty, (n->paused ? 0u : (uint32_t)EPOLLIN) | (n->input ? (uint32_t)EPOLLOUT : 0u));
}

/* Passes on typed bytes. Returns false if the viewer has left. Viewers are not read while the terminal is full. */
bool viewer_input(struct client *c) {
  struct node *n = c->node;
  char text[4096];
  if (n->input) return true;
  ssize_t got = read(c->source.fd, text, sizeof text);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (got <= 0) return false;
  if (n->pty.fd < 0) return true;
  n->input = need(malloc((size_t)got));
  memcpy(n->input, text, (size_t)got);
  n->input_end = (size_t)got;
  pty_write(n);
  if (!n->input) return true;
  node_update(n);
  viewers_flush(n);
  return true;
}
