/* What the shaper is asked: one request a connection, over an abstract socket of the fabric's net namespace, where only the lab's root is. */
#include "shaper.h"
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

struct client { bool is_client; int fd; char *text; size_t length, room, sent; bool answering, watching; struct client *next; };

static struct client *clients;

static void add(struct client *c, const char *data, size_t length) {
  if (c->length + length + 1 > c->room) {
    size_t room = (c->length + length + 1) * 2;
    char *more = realloc(c->text, room);
    if (!more) return;
    c->text = more;
    c->room = room;
  }
  memcpy(c->text + c->length, data, length);
  c->length += length;
  c->text[c->length] = 0;
}

__attribute__((format(printf, 2, 3))) static void say(struct client *c, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (n > 0) add(c, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

static void drop(struct client *c) {
  for (struct client **at = &clients; *at; at = &(*at)->next)
    if (*at == c) {
      *at = c->next;
      break;
    }
  close(c->fd);
  free(c->text);
  free(c);
}

static void show_flow(struct client *c, char side, struct direction *d) {
  d->count.missed += end_missed(&d->cable->ends[d - d->cable->flow]);
  say(c, ",\"%c\":{\"delay\":%lld,\"jitter\":%lld,\"loss\":%llu,\"bandwidth\":%llu", side, (long long)d->set.delay, (long long)d->set.jitter,
      (unsigned long long)d->set.loss, (unsigned long long)d->set.kbit);
  const struct counters *n = &d->count;
  say(c, ",\"received\":%llu,\"sent\":%llu,\"lost\":%llu,\"overflow\":%llu,\"missed\":%llu,\"refused\":%llu,\"queued\":%llu}",
      (unsigned long long)n->received, (unsigned long long)n->sent, (unsigned long long)n->lost, (unsigned long long)n->overflow,
      (unsigned long long)n->missed, (unsigned long long)n->refused, (unsigned long long)d->queued);
}

/* put <id> <mtu> and for each direction delay and jitter (ns), loss (parts per 1e9), bandwidth (kbit/s); drop <id>; show. */
static const char *run_line(const char *line, long *id) {
  struct settings set[2];
  int mtu, end = -1;
  memset(set, 0, sizeof set);
  if (!strcmp(line, "show")) return NULL;
  if (sscanf(line, "drop %ld%n", id, &end) == 1 && end == (int)strlen(line)) {
    cable_drop(*id);
    return NULL;
  }
  unsigned long long v[8];
  int fields = sscanf(line, "put %ld %d %llu %llu %llu %llu %llu %llu %llu %llu%n", id, &mtu, v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6,
                      v + 7, &end);
  if (fields != 10 || end != (int)strlen(line)) return errno = 0, "not a request";
  for (int i = 0; i < 2; i++) {
    const unsigned long long *w = v + 4 * i;
    if (w[0] > 3600000000000ull || w[1] > 3600000000000ull || w[2] > 1000000000 || w[3] > 1000000000) return errno = 0, "out of range";
    set[i] = (struct settings){.delay = (int64_t)w[0], .jitter = (int64_t)w[1], .loss = w[2], .kbit = w[3]};
  }
  if (mtu < 68 || mtu > 65535) return errno = 0, "no such MTU";
  return cable_put(*id, mtu, set);
}

static void answer(struct client *c) {
  char *request = c->text;
  c->text = NULL;
  c->length = c->room = 0;
  c->answering = true;
  say(c, "{\"pid\":%d,\"problems\":[", getpid());
  bool any = false;
  char *rest = request;
  for (char *line; rest && (line = strsep(&rest, "\n"));) {
    long id = 0;
    if (!*line) continue;
    const char *problem = run_line(line, &id);
    if (!problem) continue;
    say(c, "%s{\"id\":%ld,\"problem\":\"%s%s%s\"}", any ? "," : "", id, problem, errno ? ": " : "", errno ? strerror(errno) : "");
    any = true;
  }
  free(request);
  cables_drained();
  say(c, "],\"cables\":[");
  any = false;
  for (struct cable *one = cables; one; one = one->next) {
    say(c, "%s{\"id\":%ld,\"mtu\":%d,\"draining\":%s", any ? "," : "", one->id, one->mtu, one->draining ? "true" : "false");
    show_flow(c, 'a', &one->flow[0]);
    show_flow(c, 'b', &one->flow[1]);
    say(c, "}");
    any = true;
  }
  say(c, "]}\n");
}

static void client_ready(struct client *c) {
  if (!c->answering) {
    char data[65536];
    ssize_t got = read(c->fd, data, sizeof data);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got < 0 || c->length + (size_t)got > MOST_REQUEST) return drop(c);
    add(c, data, (size_t)got);
    if (got > 0 && !c->watching) c->watching = c->text && !strcmp(c->text, "watch\n");
    if (got > 0) return;
    if (c->watching || !c->text) return drop(c);
    answer(c);
    struct epoll_event e = {.events = EPOLLOUT, .data.ptr = c};
    epoll_ctl(epoll_fd, EPOLL_CTL_MOD, c->fd, &e);
  }
  ssize_t sent = send(c->fd, c->text + c->sent, c->length - c->sent, MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (sent > 0) c->sent += (size_t)sent;
  if (sent < 0 || c->sent == c->length) drop(c);
}

static void greet(int listener) {
  int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (fd < 0) return;
  struct client *c = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.uid != geteuid() ? NULL : calloc(1, sizeof *c);
  if (!c) {
    close(fd);
    return;
  }
  *c = (struct client){.is_client = true, .fd = fd, .next = clients};
  clients = c;
  struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
  if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &e) < 0) drop(c);
}

static struct client *client_of(const void *source) {
  struct client *c = clients;
  while (c && c != source) c = c->next;
  return c;
}

int serve(int listener) {
  struct epoll_event e = {.events = EPOLLIN, .data.ptr = NULL};
  if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listener, &e) < 0) return 1;
  for (;;) {
    struct epoll_event events[64];
    int64_t due = next_due(), now = due == INT64_MAX ? 0 : now_ns(), wait = due > now ? due - now : 0;
    struct timespec pause = {.tv_sec = wait / 1000000000, .tv_nsec = wait % 1000000000};
    int n = epoll_pwait2(epoll_fd, events, 64, due == INT64_MAX ? NULL : &pause, NULL);
    if (n < 0 && errno != EINTR) return 1;
    /* Frames first: a request must not find those that came before it still waiting. */
    for (int i = 0; i < n; i++) {
      void *source = events[i].data.ptr;
      if (!source || client_of(source)) continue;
      struct direction *d = source;
      int error;
      socklen_t size = sizeof error;
      /* A device that went down says so until it was heard. */
      if (events[i].events & EPOLLERR) getsockopt(d->cable->ends[d - d->cable->flow].fd, SOL_SOCKET, SO_ERROR, &error, &size);
      take_frames(d, &d->cable->ends[d - d->cable->flow]);
    }
    release_due();
    for (int i = 0; i < n; i++) {
      void *source = events[i].data.ptr;
      struct client *c = source ? client_of(source) : NULL;
      if (!source) greet(listener);
      else if (c) client_ready(c);
    }
    cables_drained();
  }
}

static int connect_to(const char *lab, socklen_t *size, struct sockaddr_un *at) {
  *at = (struct sockaddr_un){.sun_family = AF_UNIX};
  int n = snprintf(at->sun_path + 1, sizeof at->sun_path - 1, "labwright-shaper/%s", lab);
  *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || connect(fd, (struct sockaddr *)at, *size) == 0) return fd;
  close(fd);
  return -1;
}

static int fail(const char *what) {
  dprintf(2, "labwright-shaper: %s: %s\n", what, strerror(errno));
  return 1;
}

int watch(const char *lab) {
  struct sockaddr_un at;
  socklen_t size;
  int fd = connect_to(lab, &size, &at);
  if (fd < 0) return 3;
  if (write(fd, "watch\n", 6) != 6) return 3;
  char c;
  while (read(fd, &c, 1) < 0 && errno == EINTR) {}
  return 3;
}

/* Asks the lab's shaper; starts it where none is. */
int ask(const char *lab, const char *request, bool start) {
  struct sockaddr_un at;
  socklen_t size;
  int fd = connect_to(lab, &size, &at);
  if (fd < 0 && !start) return 3;
  for (int tries = 0; fd < 0 && tries < 50; tries++) {
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener < 0) return fail("socket");
    if (bind(listener, (struct sockaddr *)&at, size) == 0 && listen(listener, 64) == 0) {
      pid_t pid = fork();
      if (pid < 0) return fail("fork");
      if (pid == 0) return become_daemon(listener);
    }
    close(listener);
    fd = connect_to(lab, &size, &at);
    if (fd < 0) usleep(2000); /* another starter has the name and does not listen yet */
  }
  if (fd < 0) return fail("no shaper, and none can be started");
  for (size_t length = strlen(request), done = 0; done < length;) {
    ssize_t sent = send(fd, request + done, length - done, MSG_NOSIGNAL);
    if (sent < 0) return start ? fail("the shaper ended") : 3;
    done += (size_t)sent;
  }
  shutdown(fd, SHUT_WR);
  char data[65536];
  ssize_t got;
  bool whole = false;
  while ((got = read(fd, data, sizeof data)) > 0) {
    whole = data[got - 1] == '\n';
    for (ssize_t done = 0, n; done < got; done += n)
      if ((n = write(1, data + done, (size_t)(got - done))) < 0) return fail("standard output");
  }
  return whole ? 0 : start ? fail("the shaper ended") : 3;
}
