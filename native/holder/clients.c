/* Connections: one request each. */
#include "lab.h"
#include <sys/epoll.h>
#include <sys/socket.h>

struct client *clients;
size_t client_count;
bool only_own_id;

static const char *const state_names[] = {"waiting", "waiting", "booting", "running", "stopping", "stopped", "failed", "suspended"};

void reply(struct client *c, char type, const void *data, size_t length) {
  frame_add(&c->out, type, data, length);
}

void reply_texts(struct client *c, char type, struct text *fields) {
  if (fields->failed) need(NULL);
  reply(c, type, fields->data, fields->length);
  text_free(fields);
}

void finish(struct client *c) {
  c->mode = ENDING;
  client_update(c);
}

void refuse(struct client *c, const char *code, const char *text) {
  struct text fields = {0};
  text_field(&fields, "%s", code);
  text_field(&fields, "%s", text);
  reply_texts(c, 'E', &fields);
  finish(c);
}

void reply_node(struct client *c, const struct node *n) {
  struct text fields = {0};
  text_field(&fields, "%ld", n->id);
  text_field(&fields, "%s", state_names[n->state]);
  text_field(&fields, "%d", n->pid);
  text_field(&fields, "%d", n->exit_code);
  text_field(&fields, "%lld", (long long)n->started);
  text_field(&fields, "%s", n->problem);
  reply_texts(c, 'N', &fields);
}

void reply_problem(struct client *c, long id, pid_t pid, const char *problem) {
  struct text fields = {0};
  text_field(&fields, "%ld", id);
  text_field(&fields, "%d", pid);
  text_field(&fields, "%s", problem);
  reply_texts(c, 'S', &fields);
}

void report_waits(struct client *c) {
  bool done = c->mode == AWAITING, is_new = false;
  for (size_t i = 0; i < c->wait_count; i++) {
    struct wait *w = &c->waits[i];
    const struct node *n = w->node;
    if (w->reported) continue;
    if (!w->refused && (c->spawned ? n->state == SETUP : n->pid != 0)) {
      done = false;
      continue;
    }
    w->reported = is_new = true;
    const char *problem = w->refused ? "id: the node is there already" : n->problem;
    if (c->spawned) reply_problem(c, n->id, *problem ? 0 : n->pid, problem);
  }
  if (done) {
    reply(c, 'R', NULL, 0);
    finish(c);
  } else if (c->spawned && is_new) {
    client_update(c);
  }
}

void client_close(struct client *c) {
  if (c->source.fd < 0) return;
  source_close(&c->source);
  for (struct client **at = &clients; *at; at = &(*at)->next)
    if (*at == c) {
      *at = c->next;
      break;
    }
  client_count--;
  freeze_forget_client(c);
  if (c->job) job_abandon(c->job); /* no client is left that could get the failure */
  struct node *n = c->mode == VIEWING ? c->node : NULL;
  c->mode = ENDING;
  buffer_free(&c->in);
  buffer_free(&c->out);
  free(c->waits);
  c->waits = NULL;
  free_later(c);
  source_watch(&listener, EPOLLIN);
  if (n) viewers_flush(n);
}

/* Sends as much as the socket takes, and watches for the events that the connection waits for. */
void client_update(struct client *c) {
  struct buffer *b = &c->out;
  for (;;) {
    while (b->start < b->end) {
      ssize_t sent = send(c->source.fd, b->data + b->start, b->end - b->start, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN && errno != EINTR) return client_close(c);
      if (sent < 0) break;
      b->start += (size_t)sent;
    }
    if (b->start < b->end || c->mode != VIEWING) break;
    viewer_flush(c);
    if (b->start == b->end) break;
  }
  bool waiting = b->start < b->end || (c->mode == VIEWING && viewer_behind(c));
  /* The client of a program that has ended may still send input. Its connection is closed by the client, which has then read the end: a failed write
   * would make it drop what it has not read. */
  if (!waiting && ((c->mode == ENDING && !c->feeds) || (c->mode == VIEWING && c->until != UINT64_MAX))) return client_close(c);
  if (b->size > OUT_HIGH && !waiting) buffer_free(b);
  if (c->job) job_update(c->job);
  bool stuck = (c->mode == VIEWING && c->node->input) || (c->mode == FEEDING && c->job && job_full(c->job));
  source_watch(&c->source, (uint32_t)EPOLLRDHUP | (stuck ? 0u : (uint32_t)EPOLLIN) | (waiting ? (uint32_t)EPOLLOUT : 0u));
}

static void client_read(struct client *c) {
  for (;;) {
    uint32_t length = 0;
    if (c->in.end >= 4) memcpy(&length, c->in.data, 4);
    if (c->in.end >= 4 && (length == 0 || length > MAX_REQUEST)) return refuse(c, "protocol", "bad length");
    size_t whole = c->in.end < 4 ? 4 : 4 + (size_t)length;
    if (c->in.end == whole && whole > 4) return handle(c);
    size_t want = whole - c->in.end;
    if (want > 1 << 20) want = 1 << 20;
    ssize_t got = read(c->source.fd, buffer_reserve(&c->in, want), want);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return client_close(c);
    c->in.end += (size_t)got;
  }
}

/* Returns false if the client has left, or sends more than its request. */
static bool nothing_to_read(struct client *c) {
  char dropped[4096];
  ssize_t got = read(c->source.fd, dropped, sizeof dropped);
  return got < 0 ? errno == EAGAIN || errno == EINTR : got > 0 && c->feeds;
}

static void client_ready(struct source *s, uint32_t events) {
  struct client *c = container_of(s, struct client, source);
  if (events & (EPOLLHUP | EPOLLERR) || (events & EPOLLRDHUP && !(events & EPOLLIN))) return client_close(c);
  if (events & EPOLLIN) {
    if (c->mode == READING) client_read(c);
    else if (c->mode == VIEWING ? !viewer_input(c) : c->mode == FEEDING ? !job_fed(c) : !nothing_to_read(c)) return client_close(c);
  }
  if (c->source.fd < 0 || !(events & EPOLLOUT)) return;
  struct node *n = c->mode == VIEWING ? c->node : NULL;
  client_update(c);
  if (n) viewers_flush(n);
}

static struct timer accept_pause;

static void listen_again(struct timer *t) {
  (void)t;
  if (client_count < MAX_CLIENTS) source_watch(&listener, EPOLLIN);
}

void listener_ready(struct source *s, uint32_t events) {
  (void)events;
  int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
    /* The machine has no free descriptors or memory. The kernel does not report when it has some again: try again after a pause. */
    source_watch(s, 0);
    timer_start(&accept_pause, ACCEPT_PAUSE, listen_again);
    return;
  }
  /* The socket's mode admits only its owner. A peer outside the lab has no pid in this pid namespace; a process of a node would have one. */
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.pid != 0 || (only_own_id && peer.uid != 0)) {
    close(fd);
    return;
  }
  struct client *c = need(calloc(1, sizeof *c));
  c->source = (struct source){.fd = fd, .ready = client_ready};
  source_watch(&c->source, EPOLLIN);
  if (!c->source.events) { /* the caller gets an error, and may try again; without a watch it would wait without end */
    close(fd);
    free(c);
    return;
  }
  c->next = clients;
  clients = c;
  if (++client_count >= MAX_CLIENTS) source_watch(s, 0);
}
