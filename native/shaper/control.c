/* Requests to the shaper: one a connection, over an abstract socket of the fabric's net namespace, where only the lab's root is. */
#include "../common/text.h"
#include "request.h"
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

struct client {
  int fd;
  struct text in, out;
  size_t sent;
  bool answering, watching;
  int *sockets; /* received sockets, for the take lines in their order */
  size_t socket_count, socket_next;
  struct client *next;
};

static struct client *clients;
static int listening;

static void drop(struct client *c) {
  for (struct client **at = &clients; *at; at = &(*at)->next)
    if (*at == c) {
      *at = c->next;
      break;
    }
  /* Ends the connection with shutdown: a child process may still have the descriptor open. */
  epoll_ctl(epoll_fd, EPOLL_CTL_DEL, c->fd, NULL);
  shutdown(c->fd, SHUT_RDWR);
  close(c->fd);
  while (c->socket_next < c->socket_count) close(c->sockets[c->socket_next++]);
  free(c->sockets);
  text_free(&c->in);
  text_free(&c->out);
  free(c);
}

static void show_flow(struct client *c, char side, struct direction *d) {
  d->count.missed += end_missed(&d->link->ends[d - d->link->flow]);
  text_format(&c->out, ",\"%c\":{\"delay\":%lld,\"jitter\":%lld,\"loss\":%llu,\"bandwidth\":%llu", side, (long long)d->set.delay, (long long)d->set.jitter,
      (unsigned long long)d->set.loss, (unsigned long long)d->set.kbit);
  const struct counters *n = &d->count;
  text_format(&c->out, ",\"received\":%llu,\"sent\":%llu,\"lost\":%llu,\"overflow\":%llu,\"missed\":%llu,\"refused\":%llu,\"queued\":%llu}",
      (unsigned long long)n->received, (unsigned long long)n->sent, (unsigned long long)n->lost, (unsigned long long)n->overflow,
      (unsigned long long)n->missed, (unsigned long long)n->refused, (unsigned long long)d->queued);
}

/* Takes the packet sockets that came with the line. */
static const char *run_take(struct client *c, struct request *r) {
  if (c->socket_next + 2 > c->socket_count) return errno = 0, "a link without its sockets";
  for (int i = 0; i < 2; i++) r->ends[i].fd = c->sockets[c->socket_next++];
  if (!link_is_being_removed(r->id)) return link_attach(r->id, r->mtu, r->ends);
  for (int i = 0; i < 2; i++) end_close(&r->ends[i]);
  return errno = ENODEV, "Cannot find device";
}

/* Returns NULL or the problem. errno is the kernel's error, 0 if there is none. */
static const char *run_line(struct client *c, const char *line, long *id) {
  struct request r;
  const char *problem = request_read(line, &r);
  *id = r.id;
  if (problem) return errno = 0, problem;
  if (r.kind == TAKE) return run_take(c, &r);
  if (r.kind == PUT) return link_configure(r.id, r.mtu, r.set);
  if (r.kind == DROP) link_remove(r.id);
  return NULL;
}

static void answer(struct client *c) {
  char *request = c->in.data;
  c->answering = true;
  if (!strcmp(request, "list\n")) {
    /* Lists for ask.c the links whose sockets need not be opened again. A draining link may end: a put for it then reports a missing device. */
    for (const struct shaped_link *one = links; one; one = one->next)
      text_format(&c->out, "%ld %d %d %d\n", one->id, one->mtu, one->ends[0].index, one->ends[1].index);
    text_format(&c->out, ".\n");
    return;
  }
  text_format(&c->out, "{\"pid\":%d,\"problems\":[", getpid());
  bool any = false;
  char *rest = request;
  for (char *line; rest && (line = strsep(&rest, "\n"));) {
    long id = 0;
    if (!*line) continue;
    const char *problem = run_line(c, line, &id);
    if (!problem) continue;
    text_format(&c->out, "%s{\"id\":%ld,\"problem\":\"%s%s%s\"}", any ? "," : "", id, problem, errno ? ": " : "", errno ? strerror(errno) : "");
    any = true;
  }
  links_remove_drained();
  text_format(&c->out, "],\"cables\":[");
  any = false;
  for (struct shaped_link *one = links; one; one = one->next) {
    text_format(&c->out, "%s{\"id\":%ld,\"mtu\":%d,\"draining\":%s", any ? "," : "", one->id, one->mtu, one->draining ? "true" : "false");
    show_flow(c, 'a', &one->flow[0]);
    show_flow(c, 'b', &one->flow[1]);
    text_format(&c->out, "}");
    any = true;
  }
  text_format(&c->out, "]}\n");
}

/* Receives bytes, and the sockets that come with them. */
static ssize_t receive(struct client *c, char *data, size_t size) {
  char control[CMSG_SPACE(2 * sizeof(int))];
  struct iovec piece = {data, size};
  struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  ssize_t got = recvmsg(c->fd, &message, MSG_CMSG_CLOEXEC);
  for (struct cmsghdr *h = got < 0 ? NULL : CMSG_FIRSTHDR(&message); h; h = CMSG_NXTHDR(&message, h)) {
    if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    int sockets[2];
    memcpy(sockets, CMSG_DATA(h), count * sizeof(int));
    int *more = realloc(c->sockets, (c->socket_count + count) * sizeof(int));
    if (more) c->sockets = more;
    for (size_t i = 0; i < count; i++) {
      if (more) c->sockets[c->socket_count++] = sockets[i];
      else close(sockets[i]);
    }
  }
  return got;
}

static void client_ready(struct client *c) {
  if (!c->answering) {
    char data[65536];
    ssize_t got = receive(c, data, sizeof data);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got < 0 || c->in.length + (size_t)got > MAX_REQUEST) return drop(c);
    text_add(&c->in, data, (size_t)got);
    if (c->in.failed) return drop(c); /* the request is not carried out; ask.c reports the missing answer */
    if (got > 0 && !c->watching) c->watching = !strcmp(c->in.data, "watch\n");
    if (got > 0) return;
    if (c->watching || c->in.length == 0) return drop(c);
    answer(c);
    if (c->out.failed) return drop(c); /* an incomplete answer must not look complete */
    struct epoll_event e = {.events = EPOLLOUT, .data.ptr = c};
    epoll_ctl(epoll_fd, EPOLL_CTL_MOD, c->fd, &e);
  }
  ssize_t sent = send(c->fd, c->out.data + c->sent, c->out.length - c->sent, MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (sent > 0) c->sent += (size_t)sent;
  if (sent < 0 || c->sent == c->out.length) drop(c);
}

static void accept_client(int listener) {
  int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (fd < 0) return;
  struct client *c = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.uid != geteuid() ? NULL : calloc(1, sizeof *c);
  if (!c) {
    close(fd);
    return;
  }
  *c = (struct client){.fd = fd, .next = clients};
  clients = c;
  struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
  if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &e) < 0) drop(c);
}

static struct client *client_of(const void *source) {
  struct client *c = clients;
  while (c && c != source) c = c->next;
  return c;
}

void control_forget(void) {
  close(epoll_fd);
  close(listening);
  for (const struct client *c = clients; c; c = c->next) close(c->fd);
}

int serve(int listener) {
  listening = listener;
  struct epoll_event e = {.events = EPOLLIN, .data.ptr = NULL};
  if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listener, &e) < 0) return 1;
  for (;;) {
    struct epoll_event events[64];
    int64_t due = next_due(), now = due == INT64_MAX ? 0 : now_ns(), wait = due > now ? due - now : 0;
    struct timespec pause = {.tv_sec = wait / 1000000000, .tv_nsec = wait % 1000000000};
    int n = epoll_pwait2(epoll_fd, events, 64, due == INT64_MAX ? NULL : &pause, NULL);
    if (n < 0 && errno != EINTR) return 1;
    /* Handles frames first: frames that arrived before a request must have left the ring when the request is carried out. */
    for (int i = 0; i < n; i++) {
      void *source = events[i].data.ptr;
      if (!source || client_of(source) || removal_find(source)) continue;
      struct direction *d = source;
      int error;
      socklen_t size = sizeof error;
      /* A device that went down is reported until the error is read. */
      if (events[i].events & EPOLLERR) getsockopt(d->link->ends[d - d->link->flow].fd, SOL_SOCKET, SO_ERROR, &error, &size);
      receive_frames(d, &d->link->ends[d - d->link->flow]);
    }
    release_due();
    for (int i = 0; i < n; i++) {
      void *source = events[i].data.ptr;
      struct client *c = source ? client_of(source) : NULL;
      if (!source) accept_client(listening);
      else if (c) client_ready(c);
      else if (removal_find(source)) removal_ended(source);
    }
    links_remove_drained();
  }
}
