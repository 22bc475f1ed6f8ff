/*
 * labwright-holder: the one process that a lab hangs below.
 *
 *   labwright-holder lab=<id> dir=<runtime directory> [uid-base=N uid-count=N]
 *
 * The launcher makes the lab's init in its own user, mount, pid, net, ipc and uts namespace, prints {"pid":…,"start":…} when its
 * socket listens, and exits. The init's net namespace is the lab's fabric; every node is a child of it in namespaces of its own.
 * When the init dies the kernel ends all of it, which is why teardown cannot leak.
 *
 * Single-threaded, one epoll loop, no dependency. Needs Linux 5.12 (overlay in user namespaces, mount_setattr). README.md: the wire.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/rtnetlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <grp.h>

enum {
  PROTOCOL = 1,
  MAX_REQUEST = 256 << 20,  /* memory is taken as bytes arrive, not as a length announces them */
  RING = 64 << 10,          /* scrollback of a node, and all that its viewers may lag behind */
  OUT_HIGH = 256 << 10,     /* a client that leaves this much unread is not read for any more */
  STALL_MS = 250,           /* how long a viewer that does not read may hold a node's console back, once */
  RESPAWN_MS = 1000,        /* a console program starts at most this often */
  FABRIC_SYNC_MS = 50,
  MAX_CLIENTS = 2048,
  MAX_PROCESSES = 24 << 10, /* of a lab, below the 32768 pids that a small machine has: a fork bomb stays the lab's trouble */
  SPAWN_SLICE = 8,          /* nodes cloned between two looks at the other clients */
  LISTEN_FD = 3,            /* handed from launcher to init */
  READY_FD = 4,
  CONTROL_FD = 3,           /* in a node's init: its line to the holder */
};

#define ARRAY(a) (sizeof(a) / sizeof *(a))
#define container_of(p, type, member) ((type *)((char *)(p) - offsetof(type, member)))

/* ---- small things ------------------------------------------------------------------------------------------------------- */

static const char *const default_path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

static void *need(void *p) {
  if (!p || p == MAP_FAILED) {
    dprintf(2, "labwright-holder: out of memory\n");
    _exit(70);
  }
  return p;
}

static int64_t clock_ms(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool write_all(int fd, const char *data, size_t length) {
  while (length > 0) {
    ssize_t n = write(fd, data, length);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    data += n;
    length -= (size_t)n;
  }
  return true;
}

/* fork() with namespaces. Raw, so that children are as cheap as the kernel makes them; there are no other threads and no atfork hooks. */
static pid_t clone_process(unsigned long flags) {
  return (pid_t)syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
}

static int loopback_up(void) {
  struct ifreq request = {.ifr_name = "lo"};
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  int rc = fd < 0 ? -1 : ioctl(fd, SIOCGIFFLAGS, &request);
  if (rc == 0) {
    request.ifr_flags |= IFF_UP;
    rc = ioctl(fd, SIOCSIFFLAGS, &request);
  }
  if (fd >= 0) close(fd);
  return rc;
}

/*
 * Asks the kernel for every interface of this net namespace by index. An answer must tell the true carrier, so asking makes the
 * kernel handle that interface's pending carrier change now, where by itself it handles about a hundred a second.
 */
static void sync_carriers(void) {
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0) return;
  struct { struct nlmsghdr header; struct ifinfomsg info; } ask = {
    .header = {.nlmsg_len = sizeof ask, .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
  };
  size_t size = 32 << 10, count = 0, room = 0;
  int *indexes = NULL;
  char *answer = need(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  bool more = send(fd, &ask, sizeof ask, 0) == sizeof ask;
  while (more) {
    ssize_t got = recv(fd, answer, size, 0);
    if (got <= 0) break;
    size_t left = (size_t)got;
    for (struct nlmsghdr *m = (void *)answer; NLMSG_OK(m, left); m = NLMSG_NEXT(m, left)) {
      if (m->nlmsg_type == NLMSG_DONE || m->nlmsg_type == NLMSG_ERROR) more = false;
      if (m->nlmsg_type != RTM_NEWLINK) continue;
      if (count == room) indexes = need(realloc(indexes, sizeof *indexes * (room = room ? room * 2 : 16)));
      indexes[count++] = ((struct ifinfomsg *)NLMSG_DATA(m))->ifi_index;
    }
  }
  ask.header.nlmsg_flags = NLM_F_REQUEST;
  for (size_t i = 0; i < count; i++) {
    ask.info.ifi_index = indexes[i];
    if (send(fd, &ask, sizeof ask, 0) < 0 || recv(fd, answer, size, 0) < 0) break;
  }
  free(indexes);
  munmap(answer, size);
  close(fd);
}

/* ---- buffers: grown by mremap, and never copied into children, so that a node does not keep its lab's traffic alive -------- */

struct buffer { char *data; size_t start, end, size; };

static void buffer_free(struct buffer *b) {
  if (b->data) munmap(b->data, b->size);
  *b = (struct buffer){0};
}

static char *buffer_reserve(struct buffer *b, size_t more) {
  if (b->start == b->end) b->start = b->end = 0;
  if (b->end + more > b->size && b->start > 0) {
    memmove(b->data, b->data + b->start, b->end - b->start);
    b->end -= b->start;
    b->start = 0;
  }
  if (b->end + more > b->size) {
    size_t size = b->size ? b->size : 4096;
    while (size < b->end + more) size *= 2;
    if (b->data) {
      b->data = need(mremap(b->data, b->size, size, MREMAP_MAYMOVE));
    } else {
      b->data = need(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
      madvise(b->data, size, MADV_DONTFORK);
    }
    b->size = size;
  }
  return b->data + b->end;
}

/* ---- requests: fields of u32 length, bytes, NUL. The NUL makes a field a C string in place. ------------------------------- */

struct reader { const char *at, *end; bool bad; };
struct list { uint32_t count; struct reader items; };

static const char *take(struct reader *r, size_t *length) {
  uint32_t n = 0;
  *length = 0;
  if (!r->bad && (size_t)(r->end - r->at) >= sizeof n) memcpy(&n, r->at, sizeof n);
  else r->bad = true;
  if (r->bad || (size_t)(r->end - r->at) - sizeof n <= n || r->at[sizeof n + n] != 0) {
    r->bad = true;
    return "";
  }
  const char *data = r->at + sizeof n;
  r->at = data + n + 1;
  *length = n;
  return data;
}

static const char *take_text(struct reader *r) {
  size_t length;
  const char *text = take(r, &length);
  if (strlen(text) != length) r->bad = true;
  return r->bad ? "" : text;
}

static long take_number(struct reader *r, long max) {
  const char *text = take_text(r);
  char *end;
  errno = 0;
  long value = strtol(text, &end, 10);
  if (*text < '0' || *text > '9' || *end || errno || value > max) r->bad = true;
  return r->bad ? 0 : value;
}

/* A count and then that many groups of `width` fields. */
static struct list take_list(struct reader *r, uint32_t width) {
  struct list list = {.count = (uint32_t)take_number(r, 1 << 20)};
  list.items = *r;
  size_t length;
  for (uint32_t i = 0; i < list.count * width && !r->bad; i++) take(r, &length);
  return list;
}

/* The texts of a list as one block that ends with NULL, for exec. */
static char **take_vector(struct list list) {
  size_t bytes = (size_t)(list.items.end - list.items.at);
  struct reader r = list.items;
  for (uint32_t i = 0; i < list.count; i++) take_text(&r);
  bytes -= (size_t)(list.items.end - r.at);
  char **vector = need(malloc((list.count + 1) * sizeof *vector + bytes));
  char *at = (char *)(vector + list.count + 1);
  for (uint32_t i = 0; i < list.count; i++) {
    const char *text = take_text(&list.items);
    vector[i] = at;
    at = stpcpy(at, text) + 1;
  }
  vector[list.count] = NULL;
  return vector;
}

/* ---- the loop: sources of events, timers, and objects freed only between turns --------------------------------------------- */

struct source { int fd; uint32_t events; void (*ready)(struct source *, uint32_t); };
struct timer { int64_t due; void (*fire)(struct timer *); struct timer *next; bool armed; };

static int epoll_fd;
static struct timer *timers;
static void **graves;
static size_t buried, grave_room;

static void source_watch(struct source *s, uint32_t events) {
  struct epoll_event e = {.events = events, .data.ptr = s};
  if (s->fd < 0 || s->events == events) return;
  /* Nothing wanted means not registered: a hang-up would be told again and again otherwise. */
  int how = !events ? EPOLL_CTL_DEL : s->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  if (epoll_ctl(epoll_fd, how, s->fd, &e) < 0) dprintf(2, "epoll_ctl: %s\n", strerror(errno));
  s->events = events;
}

static void source_close(struct source *s) {
  if (s->fd < 0) return;
  source_watch(s, 0);
  close(s->fd);
  s->fd = -1;
}

static void bury(void *object) {
  if (buried == grave_room) graves = need(realloc(graves, sizeof *graves * (grave_room = grave_room ? grave_room * 2 : 64)));
  graves[buried++] = object;
}

static void timer_stop(struct timer *t) {
  if (!t->armed) return;
  struct timer **at = &timers;
  while (*at != t) at = &(*at)->next;
  *at = t->next;
  t->armed = false;
}

static void timer_start(struct timer *t, int64_t delay, void (*fire)(struct timer *)) {
  timer_stop(t);
  *t = (struct timer){.due = clock_ms(CLOCK_MONOTONIC) + delay, .fire = fire, .next = timers, .armed = true};
  timers = t;
}

static int timers_wait(void) {
  if (!timers) return -1;
  int64_t due = timers->due, now = clock_ms(CLOCK_MONOTONIC);
  for (struct timer *t = timers; t; t = t->next)
    if (t->due < due) due = t->due;
  return due <= now ? 0 : due - now > 60000 ? 60000 : (int)(due - now);
}

static void timers_fire(void) {
  int64_t now = clock_ms(CLOCK_MONOTONIC);
  for (struct timer *t = timers; t;) {
    if (t->due > now) {
      t = t->next;
      continue;
    }
    timer_stop(t);
    t->fire(t);
    t = timers; /* firing may have changed the list */
  }
}

/* ---- what there is: nodes, clients, jobs ----------------------------------------------------------------------------------- */

enum state { SETUP, WAITING, BOOTING, RUNNING, STOPPING, STOPPED, FAILED };
static const char *const state_names[] = {"waiting", "waiting", "booting", "running", "stopping", "stopped", "failed"};

struct node {
  long id;
  pid_t pid; /* in the lab's pid namespace; 0: not there */
  enum state state;
  int exit_code; /* -1: none */
  int boot_code;
  int64_t started;
  char problem[160]; /* why setting it up failed */
  char **env, **boot, **console;
  struct source control, pty;
  /* Scrollback: byte k of all output is at ring[k % RING]; those from first on belong to this run. */
  char *ring;
  uint64_t first, total;
  bool paused;
  struct timer stall, grace;
  char *input; /* typed, and not yet taken by the terminal */
  size_t input_at, input_end;
};

struct wait { struct node *node; bool refused; };

struct client {
  struct source source;
  enum { READING, SPAWNING, AWAITING, WORKING, VIEWING, WATCHING, ENDING } mode;
  struct buffer in, out;
  struct client *next;
  struct job *job;
  /* SPAWNING, AWAITING */
  struct reader rest;
  struct wait *waits;
  size_t wait_count, wait_room;
  bool spawned;
  /* VIEWING */
  struct node *node;
  uint64_t at, until, lost;
  bool lagging;
};

struct job {
  pid_t pid;
  struct client *client;
  struct source in, out, err;
  const char *input; /* within the client's request */
  size_t input_left;
  struct timer timeout;
  bool timed_out;
  struct job *next;
};

static struct node **nodes; /* by id */
static size_t node_count, node_room;
static struct client *clients;
static size_t client_count;
static struct job *jobs;
static struct source listener = {.fd = LISTEN_FD}, signals;
static struct timer fabric_sync;
static char *lab, *mark;
static size_t mark_room;
static bool only_own_id;
static int own_pid_ns;
static struct rlimit file_limit;

static void client_update(struct client *c);
static void client_close(struct client *c);
static void node_update(struct node *n);

static size_t node_place(long id) {
  size_t low = 0, high = node_count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (nodes[middle]->id < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

static struct node *node_find(long id) {
  size_t place = node_place(id);
  return place < node_count && nodes[place]->id == id ? nodes[place] : NULL;
}

static struct node *node_make(long id) {
  struct node *n = node_find(id);
  if (n) return n;
  size_t place = node_place(id);
  if (node_count == node_room) nodes = need(realloc(nodes, sizeof *nodes * (node_room = node_room ? node_room * 2 : 64)));
  memmove(nodes + place + 1, nodes + place, (node_count++ - place) * sizeof *nodes);
  n = need(calloc(1, sizeof *n));
  *n = (struct node){.id = id, .state = STOPPED, .exit_code = -1, .control.fd = -1, .pty.fd = -1};
  return nodes[place] = n;
}

/* ---- replies: u32 length, one byte of type, data ---------------------------------------------------------------------------- */

static void reply(struct client *c, char type, const void *data, size_t length) {
  char *at = buffer_reserve(&c->out, length + 5);
  uint32_t n = (uint32_t)length + 1;
  memcpy(at, &n, 4);
  at[4] = type;
  if (length) memcpy(at + 5, data, length);
  c->out.end += length + 5;
}

/* Texts of a reply end with NUL each; the format writes \x1f for it. */
__attribute__((format(printf, 3, 4))) static void reply_text(struct client *c, char type, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  size_t length = n < (int)sizeof text ? (size_t)n : sizeof text - 1;
  for (size_t i = 0; i < length; i++)
    if (text[i] == '\x1f') text[i] = 0;
  reply(c, type, text, length);
}

static void finish(struct client *c) {
  c->mode = ENDING;
  client_update(c);
}

static void refuse(struct client *c, const char *code, const char *text) {
  reply_text(c, 'E', "%s\x1f%s\x1f", code, text);
  finish(c);
}

static void reply_node(struct client *c, const struct node *n) {
  reply_text(c, 'N', "%ld\x1f%s\x1f%d\x1f%d\x1f%lld\x1f%s\x1f", n->id, state_names[n->state], n->pid, n->exit_code,
             (long long)n->started, n->problem);
}

static void settle(struct client *c) {
  for (size_t i = 0; i < c->wait_count; i++)
    if (!c->waits[i].refused && (c->spawned ? c->waits[i].node->state == SETUP : c->waits[i].node->pid != 0)) return;
  for (size_t i = 0; c->spawned && i < c->wait_count; i++) {
    const struct node *n = c->waits[i].node;
    const char *problem = c->waits[i].refused ? "id: the node is there already" : n->problem;
    reply_text(c, 'S', "%ld\x1f%d\x1f%s\x1f", n->id, *problem ? 0 : n->pid, problem);
  }
  reply(c, 'R', NULL, 0);
  finish(c);
}

static void node_changed(struct node *n, enum state state) {
  n->state = state;
  for (struct client *c = clients, *next; c; c = next) {
    next = c->next;
    if (c->mode == AWAITING) settle(c);
    if (c->mode != WATCHING) continue;
    reply_node(c, n);
    /* It will connect anew and be told all states: better than memory without end. */
    if (c->out.end - c->out.start > OUT_HIGH) client_close(c);
    else client_update(c);
  }
}

/* ---- console: one ring per node is scrollback and the queue of all viewers --------------------------------------------------- */

static void viewer_flush(struct client *c) {
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

static bool viewer_behind(const struct client *c) {
  return c->lost > 0 || c->at < (c->until < c->node->total ? c->until : c->node->total);
}

/* How much more may be read from the node without overwriting what a viewer has yet to get. */
static size_t ring_room(const struct node *n) {
  uint64_t behind = 0;
  for (struct client *c = clients; c; c = c->next)
    if (c->mode == VIEWING && c->node == n && !c->lagging && n->total - c->at > behind) behind = n->total - c->at;
  return behind >= RING ? 0 : RING - behind;
}

static void viewers_flush(struct node *n) {
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

/* A viewer that did not read for so long loses bytes from here on, until it has caught up; the node goes on. */
static void node_stalled(struct timer *t) {
  struct node *n = container_of(t, struct node, stall);
  for (struct client *c = clients; c; c = c->next)
    if (c->mode == VIEWING && c->node == n && n->total - c->at > RING / 2) c->lagging = true;
  n->paused = false;
  node_update(n);
}

/* Reads the node's output; false at its end. */
static bool pty_read(struct node *n, bool even_if_viewers_lag) {
  for (size_t taken = 0; taken < RING;) {
    size_t room = even_if_viewers_lag ? RING : ring_room(n), from = n->total % RING;
    if (room == 0) {
      n->paused = true;
      timer_start(&n->stall, STALL_MS, node_stalled);
      break;
    }
    if (!n->ring) {
      n->ring = need(mmap(NULL, RING, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
      madvise(n->ring, RING, MADV_DONTFORK);
    }
    struct iovec parts[2] = {{n->ring + from, RING - from < room ? RING - from : room}, {n->ring, 0}};
    parts[1].iov_len = room - parts[0].iov_len;
    ssize_t got = readv(n->pty.fd, parts, 2);
    if (got <= 0) return got < 0 && (errno == EAGAIN || errno == EINTR);
    n->total += (uint64_t)got;
    taken += (size_t)got;
  }
  return true;
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

static void pty_ready(struct source *s, uint32_t events) {
  struct node *n = container_of(s, struct node, pty);
  if (events & EPOLLOUT) pty_write(n);
  bool open = !(events & (EPOLLIN | EPOLLHUP | EPOLLERR)) || pty_read(n, false);
  /* The node's init holds the other side: an end can only mean that it is dying, and its death is told by the signal. */
  if (!open) source_watch(s, 0);
  else node_update(n);
  viewers_flush(n);
}

static void node_update(struct node *n) {
  if (n->pty.fd >= 0) source_watch(&n->pty, (n->paused ? 0u : (uint32_t)EPOLLIN) | (n->input ? (uint32_t)EPOLLOUT : 0u));
}

/* Typed bytes; false when the viewer has left. While the terminal takes no more, viewers are not read. */
static bool viewer_input(struct client *c) {
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

/* ---- a node from the inside: root, confinement, init ------------------------------------------------------------------------- */

struct spawn { long id; const char *hostname, *disk; struct list lower, files, env, boot, console; };
struct report { enum { READY, BROKEN, BOOTED } kind; int value; char step[112]; };

static void report(int fd, int kind, int value, const char *step) {
  struct report r = {.kind = kind, .value = value};
  snprintf(r.step, sizeof r.step, "%s", step);
  if (write(fd, &r, sizeof r) < 0) _exit(71);
}

static void broken(const char *step, const char *detail) {
  int problem = errno;
  char text[112];
  snprintf(text, sizeof text, *detail ? "%s %s" : "%s", step, detail);
  report(CONTROL_FD, BROKEN, problem, text);
  _exit(71);
}

static void must(int rc, const char *step, const char *detail) {
  if (rc < 0) broken(step, detail);
}

static void must_mount(const char *source, const char *target, const char *type, unsigned long flags, const char *data) {
  must(mount(source, target, type, flags, data), "mount", target);
}

static void must_make(const char *path, mode_t type, mode_t mode) {
  int rc = type == S_IFDIR ? mkdir(path, mode) : mknod(path, S_IFREG | mode, 0);
  must(rc < 0 && errno != EEXIST ? -1 : 0, "make", path);
}

/* Mount options: a comma, and in lower a colon, would end the path. */
static char *escape(char *at, const char *end, const char *path) {
  for (; *path && at + 2 < end; path++) {
    if (strchr("\\,:", *path)) *at++ = '\\';
    *at++ = *path;
  }
  if (*path) {
    errno = E2BIG;
    broken("overlay options", "");
  }
  *at = 0;
  return at;
}

static void mount_overlay(struct spawn *s) {
  static char options[4096]; /* a page is what mount(2) takes */
  char path[4096], *at = stpcpy(options, "userxattr,lowerdir="), *end = options + sizeof options - 64;
  for (uint32_t i = 0; i < s->lower.count; i++) {
    if (i) *at++ = ':';
    at = escape(at, end, take_text(&s->lower.items));
  }
  const char *const names[] = {"upper", "work"};
  for (int i = 0; i < 2; i++) {
    int length = snprintf(path, sizeof path, "%s/%s", s->disk, names[i]);
    if (length >= (int)sizeof path) errno = ENAMETOOLONG, broken("disk", "");
    must_make(path, S_IFDIR, 0755);
    at = stpcpy(at, i ? ",workdir=" : ",upperdir=");
    at = escape(at, end, path);
  }
  must(mount("overlay", s->disk, "overlay", 0, options), "overlay on", s->disk);
}

/* proc and sysfs may only be mounted in a user namespace with the access-time flags that the machine's own have. */
static unsigned long time_flags(const char *path) {
  struct statvfs v;
  if (statvfs(path, &v) < 0) return 0;
  return (v.f_flag & ST_NOATIME ? MS_NOATIME : 0) | (v.f_flag & ST_NODIRATIME ? MS_NODIRATIME : 0) |
         (v.f_flag & ST_RELATIME ? MS_RELATIME : 0);
}

/* Answers the terminal's node side; its holder side goes to *master. */
static int mount_dev(int *master) {
  static const char *const devices[] = {"null", "zero", "full", "random", "urandom", "tty", "net/tun"};
  static const char *const links[][2] = {
    {"/proc/self/fd", "/dev/fd"}, {"fd/0", "/dev/stdin"}, {"fd/1", "/dev/stdout"}, {"fd/2", "/dev/stderr"}, {"pts/ptmx", "/dev/ptmx"},
  };
  must_make("/dev", S_IFDIR, 0755);
  must_mount("tmpfs", "/dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=755,size=1m,nr_inodes=512");
  static const char *const dirs[] = {"/dev/pts", "/dev/shm", "/dev/net"};
  for (size_t i = 0; i < ARRAY(dirs); i++) must_make(dirs[i], S_IFDIR, 0755);
  for (size_t i = 0; i < ARRAY(devices); i++) {
    char from[32], to[32];
    sprintf(from, "dev/%s", devices[i]); /* relative: the machine's */
    sprintf(to, "/dev/%s", devices[i]);
    if (access(from, F_OK) < 0 && strcmp(devices[i], "net/tun") == 0) continue;
    must_make(to, S_IFREG, 0666);
    must_mount(from, to, NULL, MS_BIND, NULL);
  }
  for (size_t i = 0; i < ARRAY(links); i++) must(symlink(links[i][0], links[i][1]), "link", links[i][1]);
  must_mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777,size=64m");
  unsigned long flags = MS_NOSUID | MS_NOEXEC;
  /* Where only one id is mapped there is no group tty. */
  if (mount("devpts", "/dev/pts", "devpts", flags, "newinstance,ptmxmode=0666,mode=0620,gid=5") < 0)
    must_mount("devpts", "/dev/pts", "devpts", flags, "newinstance,ptmxmode=0666,mode=0620");
  int unlock = 0, slave = -1;
  *master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  must(*master, "open", "/dev/pts/ptmx");
  must(ioctl(*master, TIOCSPTLCK, &unlock), "unlock", "/dev/pts/ptmx");
  slave = ioctl(*master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  must(slave, "open", "/dev/pts/0");
  struct winsize size = {.ws_row = 24, .ws_col = 80};
  must(ioctl(*master, TIOCSWINSZ, &size), "size of", "/dev/pts/0");
  must_make("/dev/console", S_IFREG, 0600);
  must_mount("/dev/pts/0", "/dev/console", NULL, MS_BIND, NULL);
  return slave;
}

/* The machine's proc files that tell of it, or that a root of it could use; most are closed to a mapped root anyway. */
static void mask_proc(void) {
  static const char *const files[] = {
    "/proc/kcore", "/proc/keys", "/proc/key-users", "/proc/kallsyms", "/proc/kmsg", "/proc/timer_list", "/proc/sched_debug",
    "/proc/sysrq-trigger", "/proc/kpagecount", "/proc/kpageflags", "/proc/kpagecgroup", "/proc/modules", "/proc/config.gz",
    "/proc/latency_stats",
  };
  static const char *const dirs[] = {"/proc/acpi", "/proc/scsi", "/proc/irq", "/proc/bus", "/proc/fs"};
  for (size_t i = 0; i < ARRAY(files); i++)
    if (mount("/dev/null", files[i], NULL, MS_BIND, NULL) < 0 && errno != ENOENT) broken("mask", files[i]);
  const char *empty = NULL;
  for (size_t i = 0; i < ARRAY(dirs); i++) {
    int rc = empty ? mount(empty, dirs[i], NULL, MS_BIND, NULL)
                   : mount("tmpfs", dirs[i], "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4k,nr_inodes=2,mode=555");
    if (rc == 0 && !empty) empty = dirs[i];
    if (rc < 0 && errno != ENOENT) broken("mask", dirs[i]);
  }
}

/*
 * The old root stays the working directory until all is in place: relative paths are the machine's, absolute ones the node's own.
 * So whatever links the node left on its disk, they lead nowhere but within it.
 */
static int make_root(struct spawn *s, int *master) {
  unsigned long quiet = MS_NOSUID | MS_NODEV | MS_NOEXEC, proc_times = time_flags("/proc"), sys_times = time_flags("/sys");
  mount_overlay(s);
  int old = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  must(old, "open", "/");
  must(chdir(s->disk), "enter", s->disk);
  must((int)syscall(SYS_pivot_root, ".", "."), "pivot_root", "");
  must(fchdir(old), "enter", "the old root");
  close(old);
  must_make("/proc", S_IFDIR, 0555);
  must_mount("proc", "/proc", "proc", quiet | proc_times, NULL);
  must_make("/sys", S_IFDIR, 0555);
  must_mount("sysfs", "/sys", "sysfs", quiet | MS_RDONLY | sys_times, NULL);
  int slave = mount_dev(master);
  mask_proc();
  must_make("/run", S_IFDIR, 0755);
  must_mount("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=64m");
  must_make("/tmp", S_IFDIR, 01777);
  must_mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777,size=256m");
  must(umount2(".", MNT_DETACH), "detach", "the old root");
  must(chdir("/"), "enter", "/");
  return slave;
}

static void write_file(const char *path, mode_t mode, const char *text, size_t length) {
  char dir[4096];
  if (snprintf(dir, sizeof dir, "%s", path) >= (int)sizeof dir) errno = ENAMETOOLONG, broken("file", path);
  for (char *slash = strchr(dir + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    must(mkdir(dir, 0755) < 0 && errno != EEXIST ? -1 : 0, "file", path);
    *slash = '/';
  }
  char *name = strrchr(dir, '/');
  *name++ = 0;
  struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS};
  int at = (int)syscall(SYS_openat2, AT_FDCWD, *dir ? dir : "/", &how, sizeof how);
  must(at, "file", path);
  /* A new file, never what stands there: it may be a link. */
  must(unlinkat(at, name, 0) < 0 && errno != ENOENT ? -1 : 0, "file", path);
  int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  must(fd, "file", path);
  must(write_all(fd, text, length) && fchmod(fd, mode) == 0 ? 0 : -1, "file", path);
  close(fd);
  close(at);
}

/* What routers, hosts and their tools use of root's powers. zebra and its kin refuse to start without SYS_ADMIN. */
static const int kept_capabilities[] = {
  CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID, CAP_KILL, CAP_SETGID, CAP_SETUID, CAP_SETPCAP, CAP_NET_BIND_SERVICE,
  CAP_NET_BROADCAST, CAP_NET_ADMIN, CAP_NET_RAW, CAP_IPC_LOCK, CAP_SYS_CHROOT, CAP_SYS_ADMIN, CAP_SYS_NICE, CAP_SYS_RESOURCE,
  CAP_AUDIT_WRITE,
};

/* Kernel surface that no node needs. By number where headers may be older than the call (numbers from 424 on are the same everywhere). */
static const unsigned denied_calls[] = {
  SYS_kexec_load, SYS_kexec_file_load, SYS_bpf, SYS_keyctl, SYS_add_key, SYS_request_key, SYS_init_module, SYS_finit_module,
  SYS_delete_module, SYS_mount, SYS_umount2, SYS_pivot_root, 428 /* open_tree */, 429 /* move_mount */, 430 /* fsopen */,
  431 /* fsconfig */, 432 /* fsmount */, 433 /* fspick */, 442 /* mount_setattr */, 467 /* open_tree_attr */, SYS_perf_event_open,
  SYS_userfaultfd, SYS_swapon, SYS_swapoff, SYS_reboot, SYS_open_by_handle_at, SYS_name_to_handle_at, SYS_quotactl,
  443 /* quotactl_fd */, SYS_acct, SYS_syslog, 425 /* io_uring_setup */, 426 /* io_uring_enter */, 427 /* io_uring_register */,
  SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex, SYS_lookup_dcookie, SYS_nfsservctl, SYS_vhangup,
  SYS_fanotify_init, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_move_pages, SYS_migrate_pages,
#ifdef __x86_64__
  SYS_iopl, SYS_ioperm, SYS_uselib, SYS_sysfs, SYS__sysctl, SYS_ustat, SYS_modify_ldt,
#endif
};

/* AF_VSOCK reaches the hypervisor past every net namespace; AF_ALG is kernel code that nobody here needs. */
enum { DENIED_ALG = 38, DENIED_VSOCK = 40 };

static int confine(void) {
#if defined __x86_64__
  const unsigned arch = AUDIT_ARCH_X86_64;
#elif defined __aarch64__
  const unsigned arch = AUDIT_ARCH_AARCH64;
#else
#error "no seccomp architecture for this machine"
#endif
  static struct sock_filter f[2 * ARRAY(denied_calls) + 40];
  unsigned short n = 0;
#define OP(...) f[n++] = (struct sock_filter)__VA_ARGS__
#define LOAD(field) OP(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field)))
#define RETURN(value) OP(BPF_STMT(BPF_RET | BPF_K, value))
#define UNLESS_EQUAL_SKIP(value, skip) OP(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip))
  const unsigned deny = SECCOMP_RET_ERRNO | EPERM;
  n = 0;
  LOAD(arch);
  OP(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arch, 1, 0));
  RETURN(SECCOMP_RET_KILL_PROCESS);
  LOAD(nr);
  OP(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1)); /* x32 */
  RETURN(SECCOMP_RET_KILL_PROCESS);
  for (size_t i = 0; i < ARRAY(denied_calls); i++) {
    UNLESS_EQUAL_SKIP(denied_calls[i], 1);
    RETURN(deny);
  }
  /* Its flags are in memory, out of a filter's sight; libraries then use clone. */
  UNLESS_EQUAL_SKIP(SYS_clone3, 1);
  RETURN(SECCOMP_RET_ERRNO | ENOSYS);
  const unsigned flagged[][2] = {{SYS_clone, 0}, {SYS_unshare, 0}, {SYS_setns, 1}};
  for (size_t i = 0; i < ARRAY(flagged); i++) {
    UNLESS_EQUAL_SKIP(flagged[i][0], 4);
    OP(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)(offsetof(struct seccomp_data, args) + 8 * flagged[i][1])));
    OP(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUSER, 0, 1));
    RETURN(deny);
    RETURN(SECCOMP_RET_ALLOW);
  }
  UNLESS_EQUAL_SKIP(SYS_socket, 5);
  LOAD(args[0]);
  OP(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, DENIED_ALG, 1, 0));
  OP(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, DENIED_VSOCK, 0, 1));
  RETURN(SECCOMP_RET_ERRNO | EAFNOSUPPORT);
  RETURN(SECCOMP_RET_ALLOW);
  RETURN(SECCOMP_RET_ALLOW);

  uint64_t kept = 0;
  for (size_t i = 0; i < ARRAY(kept_capabilities); i++) kept |= 1ull << kept_capabilities[i];
  for (int cap = 0; cap < 64 && prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
    if (!(kept >> cap & 1) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0) return -1;
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct caps[2] = {
    {.effective = (uint32_t)kept, .permitted = (uint32_t)kept},
    {.effective = (uint32_t)(kept >> 32), .permitted = (uint32_t)(kept >> 32)},
  };
  struct sock_fprog program = {.len = n, .filter = f};
  struct rlimit none = {0, 0};
  if (syscall(SYS_capset, &header, caps) < 0 || setrlimit(RLIMIT_CORE, &none) < 0 || setrlimit(RLIMIT_NOFILE, &file_limit) < 0) return -1;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return -1;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

/* Becomes the program, in a node or in the fabric. */
static _Noreturn void become(char **argv, char **env) {
  static char *defaults[] = {NULL, "HOME=/root", "TERM=xterm", "LANG=C.UTF-8"};
  defaults[0] = (char *)(uintptr_t)default_path;
  size_t count = 0, given = 0;
  while (env && env[given]) given++;
  char **all = need(calloc(given + ARRAY(defaults) + 1, sizeof *all));
  for (; count < given; count++) all[count] = env[count];
  for (size_t i = 0; i < ARRAY(defaults); i++) {
    size_t name = strcspn(defaults[i], "=") + 1;
    bool there = false;
    for (size_t k = 0; k < given; k++) there = there || strncmp(env[k], defaults[i], name) == 0;
    if (!there) all[count++] = defaults[i];
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  signal(SIGPIPE, SIG_DFL);
  umask(022);
  environ = all;
  execvp(argv[0], argv);
  dprintf(2, "labwright: %s: %s\n", argv[0], strerror(errno));
  _exit(errno == ENOENT ? 127 : 126);
}

static pid_t start_program(struct node *n, char **argv, int slave, bool on_terminal) {
  pid_t pid = clone_process(0);
  if (pid != 0) return pid;
  /* Boot leads no session, so it cannot take the console's terminal by opening it. */
  if (on_terminal) setsid();
  else setpgid(0, 0);
  int null = on_terminal ? slave : open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(null, 0);
  dup2(slave, 1);
  dup2(slave, 2);
  close_range(3, ~0u, 0);
  if (on_terminal && ioctl(0, TIOCSCTTY, 1) < 0) dprintf(2, "labwright: no controlling terminal: %s\n", strerror(errno));
  become(argv, n->env);
}

static int exit_code(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

/* The node's pid 1 from release to its end. Leaving this function by _exit ends the node: the kernel kills its pid namespace. */
static _Noreturn void node_init(struct node *n, int slave, const struct termios *fresh) {
  sigset_t wanted;
  sigemptyset(&wanted);
  /* TERM, and what a halt or poweroff typed in the node sends. */
  const int all[] = {SIGCHLD, SIGTERM, SIGUSR1, SIGUSR2};
  for (size_t i = 0; i < ARRAY(all); i++) sigaddset(&wanted, all[i]);
  sigprocmask(SIG_SETMASK, &wanted, NULL);
  char released;
  while (read(CONTROL_FD, &released, 1) != 1)
    if (errno != EINTR) _exit(0);
  sync_carriers();
  pid_t boot = *n->boot ? start_program(n, n->boot, slave, false) : 0, console = 0;
  bool booted = false, ending = false;
  int64_t not_before = 0;
  if (boot < 0) _exit(126);
  for (;;) {
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
      if (pid == console) console = 0;
      if (pid != boot) continue;
      boot = 0;
      if (ending || exit_code(status) == 0) continue;
      report(CONTROL_FD, BOOTED, exit_code(status), "boot");
      _exit(exit_code(status));
    }
    if (ending && pid < 0 && errno == ECHILD) _exit(0);
    if (!boot && !booted && !ending) {
      booted = true;
      sync_carriers(); /* those that boot brought up */
      report(CONTROL_FD, BOOTED, 0, "boot");
    }
    int64_t now = clock_ms(CLOCK_MONOTONIC);
    bool want_console = booted && !ending && !console && *n->console;
    if (want_console && now >= not_before) {
      tcsetattr(slave, TCSANOW, fresh);
      console = start_program(n, n->console, slave, true);
      if (console < 0) console = 0; /* no memory or no pids left: again a little later */
      want_console = !console;
      not_before = now + RESPAWN_MS;
    }
    struct timespec pause = {.tv_sec = (not_before - now) / 1000, .tv_nsec = (not_before - now) % 1000 * 1000000};
    int signal = want_console ? sigtimedwait(&wanted, NULL, &pause) : sigwaitinfo(&wanted, NULL);
    if (signal == SIGCHLD || signal < 0 || ending) continue;
    ending = true;
    kill(-1, SIGTERM);
    kill(-1, SIGCONT);
    if (console) kill(-console, SIGHUP); /* interactive shells do not heed TERM */
  }
}

/* Tells ps whose process this is, in the place of the command line's last argument. */
static void mark_process(const char *text) {
  memset(mark, 0, mark_room);
  strncpy(mark, text, mark_room - 1);
}

static _Noreturn void node_main(struct node *n, struct spawn *s, int control, struct buffer *request) {
  char text[32];
  if (dup3(control, CONTROL_FD, O_CLOEXEC) < 0) _exit(71);
  close_range(CONTROL_FD + 1, ~0u, 0);
  fcntl(CONTROL_FD, F_SETFL, 0);
  snprintf(text, sizeof text, "node=%ld", n->id);
  mark_process(text);
  prctl(PR_SET_NAME, "labwright-node", 0, 0, 0);
  umask(022);
  int master = -1;
  must(sethostname(s->hostname, strlen(s->hostname)), "hostname", s->hostname);
  must(loopback_up(), "interface", "lo");
  umask(0);
  int slave = make_root(s, &master);
  umask(022);
  for (uint32_t i = 0; i < s->files.count; i++) {
    const char *path = take_text(&s->files.items);
    mode_t mode = (mode_t)take_number(&s->files.items, 07777);
    size_t length;
    const char *data = take(&s->files.items, &length);
    write_file(path, mode, data, length);
  }
  struct termios fresh;
  must(tcgetattr(slave, &fresh), "attributes of", "/dev/pts/0");
  for (int fd = 0; fd < 3; fd++) must(dup2(slave, fd), "terminal", "");
  must(confine(), "confine", "");
  struct report ready = {.kind = READY};
  struct iovec body = {&ready, sizeof ready};
  union { struct cmsghdr header; char room[CMSG_SPACE(sizeof master)]; } extra = {
    .header = {.cmsg_len = CMSG_LEN(sizeof master), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS},
  };
  memcpy(CMSG_DATA(&extra.header), &master, sizeof master);
  struct msghdr message = {.msg_iov = &body, .msg_iovlen = 1, .msg_control = &extra, .msg_controllen = sizeof extra.room};
  if (sendmsg(CONTROL_FD, &message, 0) < 0) _exit(71);
  close(master);
  buffer_free(request); /* other nodes' files are in it too */
  node_init(n, slave, &fresh);
}

/* ---- a node from the outside -------------------------------------------------------------------------------------------------- */

static void fabric_sync_due(struct timer *t) {
  (void)t;
  sync_carriers();
}

static void control_read(struct node *n) {
  struct report r;
  union { struct cmsghdr header; char room[CMSG_SPACE(sizeof(int))]; } extra;
  for (;;) {
    struct iovec body = {&r, sizeof r};
    struct msghdr message = {.msg_iov = &body, .msg_iovlen = 1, .msg_control = &extra, .msg_controllen = sizeof extra};
    if (recvmsg(n->control.fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != sizeof r) return;
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    int terminal = -1;
    if (c && c->cmsg_type == SCM_RIGHTS) memcpy(&terminal, CMSG_DATA(c), sizeof terminal);
    if (terminal >= 0 && n->state != SETUP) {
      close(terminal); /* it is being stopped already */
    } else if (r.kind == READY && terminal >= 0) {
      n->pty = (struct source){.fd = terminal, .ready = pty_ready};
      node_update(n);
      node_changed(n, WAITING);
    } else if (r.kind == BROKEN && n->state == SETUP) {
      r.step[sizeof r.step - 1] = 0;
      snprintf(n->problem, sizeof n->problem, "%s: %s", r.step, strerror(r.value));
      dprintf(2, "node %ld: %s\n", n->id, n->problem);
    } else if (r.kind == BOOTED) {
      n->boot_code = r.value;
      if (n->state == BOOTING && r.value == 0) node_changed(n, RUNNING);
      /* Boot brought the node's ports up, so the fabric's ends have carrier now: one sync for all that boot about now. */
      if (!fabric_sync.armed) timer_start(&fabric_sync, FABRIC_SYNC_MS, fabric_sync_due);
    }
  }
}

static void control_ready(struct source *s, uint32_t events) {
  control_read(container_of(s, struct node, control));
  if (events & (EPOLLHUP | EPOLLERR)) source_watch(s, 0);
}

static void node_died(struct node *n, int status) {
  control_read(n);
  source_close(&n->control);
  timer_stop(&n->grace);
  timer_stop(&n->stall);
  n->paused = false;
  if (n->pty.fd >= 0)
    for (int i = 0; i < 64 && pty_read(n, true) && i < 63; i++) {}
  source_close(&n->pty);
  free(n->input);
  n->input = NULL;
  n->input_at = n->input_end = 0;
  n->pid = 0;
  n->exit_code = n->boot_code > 0 ? n->boot_code : exit_code(status);
  if (n->state == SETUP && !*n->problem) snprintf(n->problem, sizeof n->problem, "set-up: ended with code %d", n->exit_code);
  /* Ended by itself with 0: a poweroff inside. */
  node_changed(n, n->state == STOPPING || (n->state >= BOOTING && n->exit_code == 0) ? STOPPED : FAILED);
  for (struct client *c = clients, *next; c; c = next) {
    next = c->next;
    if (c->mode != VIEWING || c->node != n) continue;
    c->until = n->total;
    client_update(c);
  }
}

static bool take_spawn(struct reader *r, struct spawn *s) {
  s->id = take_number(r, INT32_MAX);
  s->hostname = take_text(r);
  s->disk = take_text(r);
  s->lower = take_list(r, 1);
  s->files = take_list(r, 3);
  s->env = take_list(r, 1);
  s->boot = take_list(r, 1);
  s->console = take_list(r, 1);
  struct reader check = s->files.items;
  for (uint32_t i = 0; i < s->files.count && !r->bad; i++) {
    size_t length;
    if (*take_text(&check) != '/') r->bad = true;
    take_number(&check, 07777);
    take(&check, &length);
    r->bad = r->bad || check.bad;
  }
  const struct list *texts[] = {&s->lower, &s->env, &s->boot, &s->console};
  for (size_t i = 0; i < ARRAY(texts) && !r->bad; i++) {
    check = texts[i]->items;
    for (uint32_t k = 0; k < texts[i]->count && !check.bad; k++)
      if (*take_text(&check) != '/' && i == 0) check.bad = true;
    r->bad = check.bad;
  }
  r->bad = r->bad || *s->disk != '/' || s->lower.count == 0 || !*s->hostname || strlen(s->hostname) > 64;
  return !r->bad;
}

static void spawn_node(struct client *c, struct node *n, struct spawn *s) {
  int pair[2];
  /* Viewers of the last run that still have not read its end. */
  for (struct client *v = clients, *next; v; v = next) {
    next = v->next;
    if (v->mode == VIEWING && v->node == n) client_close(v);
  }
  free(n->env), free(n->boot), free(n->console);
  n->env = take_vector(s->env);
  n->boot = take_vector(s->boot);
  n->console = take_vector(s->console);
  n->first = n->total;
  n->exit_code = -1;
  n->boot_code = 0;
  n->problem[0] = 0;
  n->started = clock_ms(CLOCK_REALTIME);
  n->state = SETUP;
  pid_t pid = -1;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0) {
    pid = clone_process(CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWCGROUP);
    if (pid == 0) node_main(n, s, pair[1], &c->in);
    int problem = errno;
    close(pair[1]);
    if (pid < 0) close(pair[0]);
    errno = problem;
  }
  if (pid < 0) {
    snprintf(n->problem, sizeof n->problem, "clone: %s", strerror(errno));
    n->state = FAILED;
    return;
  }
  n->pid = pid;
  n->control = (struct source){.fd = pair[0], .ready = control_ready};
  source_watch(&n->control, EPOLLIN);
}

/* A few nodes of one request; the rest after the other clients had their turn. */
static void spawn_some(struct client *c) {
  madvise(c->in.data, c->in.size, MADV_DOFORK);
  for (int i = 0; i < SPAWN_SLICE && c->rest.at < c->rest.end; i++) {
    struct spawn s;
    take_spawn(&c->rest, &s);
    struct node *n = node_make(s.id);
    struct wait *w = &c->waits[c->wait_count++];
    *w = (struct wait){.node = n, .refused = n->pid != 0};
    if (!w->refused) spawn_node(c, n, &s);
  }
  madvise(c->in.data, c->in.size, MADV_DONTFORK);
  if (c->rest.at < c->rest.end) return;
  c->mode = AWAITING;
  settle(c);
}

static void node_kill(struct timer *t) {
  struct node *n = container_of(t, struct node, grace);
  if (n->pid) kill(n->pid, SIGKILL);
}

/* ---- jobs: programs in the fabric or in a node ---------------------------------------------------------------------------------- */

static void job_kill(struct job *j) {
  if (!j->pid) return;
  kill(-j->pid, SIGKILL);
  kill(j->pid, SIGKILL); /* it may not have made its group yet */
}

static void job_timeout(struct timer *t) {
  struct job *j = container_of(t, struct job, timeout);
  j->timed_out = true;
  job_kill(j);
}

static void job_update(struct job *j) {
  struct client *c = j->client;
  uint32_t want = c && c->out.end - c->out.start < OUT_HIGH ? EPOLLIN : 0;
  source_watch(&j->out, want);
  source_watch(&j->err, want);
}

/* False at the end of the pipe, or when nothing is there now. */
static bool job_output(struct job *j, struct source *s) {
  char *at = buffer_reserve(&j->client->out, 5 + 32768);
  ssize_t got = read(s->fd, at + 5, 32768);
  if (got == 0) source_close(s);
  if (got <= 0) return false;
  uint32_t length = (uint32_t)got + 1;
  memcpy(at, &length, 4);
  at[4] = s == &j->out ? 'O' : 'X';
  j->client->out.end += 5 + (size_t)got;
  return true;
}

static void job_out_ready(struct source *s, uint32_t events) {
  struct job *j = container_of(s, struct job, out);
  (void)events;
  if (!j->client) return;
  job_output(j, s);
  job_update(j);
  client_update(j->client);
}

static void job_err_ready(struct source *s, uint32_t events) {
  struct job *j = container_of(s, struct job, err);
  (void)events;
  if (!j->client) return;
  job_output(j, s);
  job_update(j);
  client_update(j->client);
}

static void job_in_ready(struct source *s, uint32_t events) {
  struct job *j = container_of(s, struct job, in);
  (void)events;
  ssize_t sent = write(s->fd, j->input, j->input_left);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (sent > 0) j->input += sent, j->input_left -= (size_t)sent;
  if (sent <= 0 || j->input_left == 0) source_close(s); /* it does not want the rest: its exit code tells */
}

static void job_drop(struct job *j) {
  source_close(&j->in), source_close(&j->out), source_close(&j->err);
  if (j->client) j->client->job = NULL;
  j->client = NULL;
}

static void job_died(struct job *j, int status) {
  struct client *c = j->client;
  timer_stop(&j->timeout);
  j->pid = 0;
  for (struct job **at = &jobs; *at; at = &(*at)->next)
    if (*at == j) {
      *at = j->next;
      break;
    }
  if (c) {
    /* What it wrote is in the pipes. Not until their end: something left in the background may hold them for ever. */
    for (int i = 0; i < 64 && j->out.fd >= 0 && job_output(j, &j->out); i++) {}
    for (int i = 0; i < 64 && j->err.fd >= 0 && job_output(j, &j->err); i++) {}
    reply_text(c, 'R', "%d\x1f%s\x1f", exit_code(status), j->timed_out ? "timeout" : "");
    job_drop(j);
    finish(c);
  }
  bury(j);
}

static void job_start(struct client *c, struct node *n, struct list argv, const char *input, size_t length, long timeout) {
  int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1}, node_fd = -1;
  char **program = take_vector(argv);
  pid_t pid = -1;
  if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0) goto failed;
  if (n) {
    /* Children are made in the node's pid namespace for a moment: the program is then our child and the node's process at once. */
    node_fd = (int)syscall(SYS_pidfd_open, n->pid, 0);
    if (node_fd < 0 || setns(node_fd, CLONE_NEWPID) < 0) goto failed;
  }
  pid = clone_process(0);
  if (pid == 0) {
    setsid();
    dup2(in[0], 0), dup2(out[1], 1), dup2(err[1], 2);
    if (n && (setns(node_fd, CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWCGROUP) < 0 || confine() < 0)) {
      dprintf(2, "labwright: entering the node: %s\n", strerror(errno));
      _exit(126);
    }
    close_range(3, ~0u, 0);
    if (!n) setrlimit(RLIMIT_NOFILE, &file_limit);
    become(program, n ? n->env : NULL);
  }
  int problem = errno;
  if (n && setns(own_pid_ns, CLONE_NEWPID) < 0) {
    dprintf(2, "cannot return to the lab's pid namespace: %s\n", strerror(errno));
    _exit(71);
  }
  errno = problem;
failed:
  problem = errno;
  free(program);
  if (node_fd >= 0) close(node_fd);
  const int theirs[] = {in[0], out[1], err[1]}, ours[] = {in[1], out[0], err[0]};
  for (size_t i = 0; i < 3; i++) {
    if (theirs[i] >= 0) close(theirs[i]);
    if (pid < 0 && ours[i] >= 0) close(ours[i]);
    if (pid >= 0) fcntl(ours[i], F_SETFL, O_NONBLOCK);
  }
  if (pid < 0) return refuse(c, "system", strerror(problem));
  struct job *j = need(calloc(1, sizeof *j));
  *j = (struct job){
    .pid = pid, .client = c, .input = input, .input_left = length, .next = jobs,
    .in = {.fd = in[1], .ready = job_in_ready}, .out = {.fd = out[0], .ready = job_out_ready}, .err = {.fd = err[0], .ready = job_err_ready},
  };
  jobs = j;
  c->job = j;
  c->mode = WORKING;
  if (length) source_watch(&j->in, EPOLLOUT);
  else source_close(&j->in);
  if (timeout) timer_start(&j->timeout, timeout, job_timeout);
  job_update(j);
}

/* ---- requests --------------------------------------------------------------------------------------------------------------------- */

static void do_info(struct client *c) {
  for (size_t i = 0; i < node_count; i++) reply_node(c, nodes[i]);
  reply_text(c, 'R', "%d\x1f%s\x1f", PROTOCOL, lab);
  finish(c);
}

static void do_watch(struct client *c) {
  for (size_t i = 0; i < node_count; i++) reply_node(c, nodes[i]);
  reply(c, 'R', NULL, 0);
  c->mode = WATCHING;
  client_update(c);
}

static void do_spawn(struct client *c, struct reader *r) {
  struct reader check = *r;
  struct spawn s;
  size_t count = 0;
  while (!check.bad && check.at < check.end && take_spawn(&check, &s)) count++;
  if (check.bad) return refuse(c, "protocol", "malformed spawn");
  c->waits = need(calloc(count + 1, sizeof *c->waits));
  c->rest = *r;
  c->spawned = true;
  c->mode = SPAWNING;
}

static void do_release(struct client *c, struct reader *r) {
  struct list ids = take_list(r, 1);
  struct reader check = ids.items;
  if (r->bad) return refuse(c, "protocol", "malformed release");
  for (uint32_t i = 0; i < ids.count; i++) {
    struct node *n = node_find(take_number(&check, INT32_MAX));
    if (check.bad) return refuse(c, "protocol", "malformed release");
    if (!n) return refuse(c, "no-node", "a node that is to be released is not there");
  }
  sync_carriers();
  for (uint32_t i = 0; i < ids.count; i++) {
    struct node *n = node_find(take_number(&ids.items, INT32_MAX));
    if (n->state != WAITING) continue; /* released before, or dead: its state tells */
    if (write(n->control.fd, "R", 1) != 1) continue; /* dead, and its signal on the way */
    n->started = clock_ms(CLOCK_REALTIME);
    node_changed(n, BOOTING);
  }
  reply(c, 'R', NULL, 0);
  finish(c);
}

static void do_stop(struct client *c, struct reader *r) {
  bool graceful = strcmp(take_text(r), "graceful") == 0;
  long grace = take_number(r, INT32_MAX);
  struct list ids = take_list(r, 1);
  if (r->bad) return refuse(c, "protocol", "malformed stop");
  c->waits = need(calloc(ids.count + 1, sizeof *c->waits));
  for (uint32_t i = 0; i < ids.count; i++) {
    struct node *n = node_find(take_number(&ids.items, INT32_MAX));
    if (ids.items.bad || !n || !n->pid) continue;
    c->waits[c->wait_count++].node = n;
    bool gently = graceful && grace > 0 && (n->state == BOOTING || n->state == RUNNING || n->state == STOPPING);
    if (gently && (!n->grace.armed || n->grace.due > clock_ms(CLOCK_MONOTONIC) + grace)) timer_start(&n->grace, grace, node_kill);
    if (n->state != STOPPING || !gently) kill(n->pid, gently ? SIGTERM : SIGKILL);
    if (n->state != STOPPING) node_changed(n, STOPPING);
  }
  c->mode = AWAITING;
  settle(c);
}

static void do_job(struct client *c, struct reader *r, bool in_node) {
  struct node *n = in_node ? node_find(take_number(r, INT32_MAX)) : NULL;
  long timeout = take_number(r, INT32_MAX);
  struct list argv = take_list(r, 1);
  size_t length;
  const char *input = take(r, &length);
  struct reader check = argv.items;
  for (uint32_t i = 0; i < argv.count; i++) take_text(&check);
  if (r->bad || check.bad || argv.count == 0) return refuse(c, "protocol", "malformed program");
  if (in_node && !n) return refuse(c, "no-node", "no such node");
  if (in_node && (!n->pid || n->state == SETUP)) return refuse(c, "not-running", "the node does not run");
  job_start(c, n, argv, input, length, timeout);
}

static void do_console(struct client *c, struct reader *r, bool stay) {
  struct node *n = node_find(take_number(r, INT32_MAX));
  if (r->bad) return refuse(c, "protocol", "malformed console");
  if (!n) return refuse(c, "no-node", "no such node");
  if (stay && n->pty.fd < 0) return refuse(c, "not-running", "the node does not run");
  uint64_t at = n->total - n->first > RING ? n->total - RING : n->first;
  if (stay) {
    reply(c, 'R', NULL, 0);
    c->node = n;
    c->at = at;
    c->until = UINT64_MAX;
    c->mode = VIEWING;
    return client_update(c);
  }
  while (at < n->total) {
    size_t from = at % RING, length = n->total - at < RING - from ? n->total - at : RING - from;
    reply(c, 'O', n->ring + from, length);
    at += length;
  }
  reply(c, 'R', NULL, 0);
  finish(c);
}

static void do_resize(struct client *c, struct reader *r) {
  struct node *n = node_find(take_number(r, INT32_MAX));
  struct winsize size = {0};
  size.ws_col = (unsigned short)take_number(r, 10000);
  size.ws_row = (unsigned short)take_number(r, 10000);
  if (r->bad) return refuse(c, "protocol", "malformed resize");
  if (!n) return refuse(c, "no-node", "no such node");
  if (n->pty.fd < 0) return refuse(c, "not-running", "the node does not run");
  if (ioctl(n->pty.fd, TIOCSWINSZ, &size) < 0) return refuse(c, "system", strerror(errno));
  reply(c, 'R', NULL, 0);
  finish(c);
}

static void do_destroy(struct client *c) {
  reply(c, 'R', NULL, 0);
  client_update(c);
  _exit(0);
}

static void handle(struct client *c) {
  struct reader r = {.at = c->in.data + 4, .end = c->in.data + c->in.end};
  long version = take_number(&r, INT32_MAX);
  const char *what = take_text(&r);
  if (r.bad) return refuse(c, "protocol", "malformed request");
  if (version != PROTOCOL) return refuse(c, "version", "this holder speaks protocol 1");
  if (!strcmp(what, "info")) do_info(c);
  else if (!strcmp(what, "watch")) do_watch(c);
  else if (!strcmp(what, "spawn")) do_spawn(c, &r);
  else if (!strcmp(what, "release")) do_release(c, &r);
  else if (!strcmp(what, "stop")) do_stop(c, &r);
  else if (!strcmp(what, "run")) do_job(c, &r, false);
  else if (!strcmp(what, "exec")) do_job(c, &r, true);
  else if (!strcmp(what, "console")) do_console(c, &r, true);
  else if (!strcmp(what, "tail")) do_console(c, &r, false);
  else if (!strcmp(what, "resize")) do_resize(c, &r);
  else if (!strcmp(what, "destroy")) do_destroy(c);
  else refuse(c, "protocol", "unknown request");
}

/* ---- connections: one request each -------------------------------------------------------------------------------------------------- */

static void client_close(struct client *c) {
  if (c->source.fd < 0) return;
  source_close(&c->source);
  for (struct client **at = &clients; *at; at = &(*at)->next)
    if (*at == c) {
      *at = c->next;
      break;
    }
  client_count--;
  if (c->job) job_kill(c->job), job_drop(c->job); /* nobody is left to hear of it */
  struct node *n = c->mode == VIEWING ? c->node : NULL;
  c->mode = ENDING;
  buffer_free(&c->in);
  buffer_free(&c->out);
  free(c->waits);
  c->waits = NULL;
  bury(c);
  source_watch(&listener, EPOLLIN);
  if (n) viewers_flush(n);
}

/* Sends what can be sent, and asks for the events that can bring it on. */
static void client_update(struct client *c) {
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
  if (!waiting && (c->mode == ENDING || (c->mode == VIEWING && c->until != UINT64_MAX))) return client_close(c);
  if (b->size > OUT_HIGH && !waiting) buffer_free(b);
  if (c->job) job_update(c->job);
  bool stuck = c->mode == VIEWING && c->node->input;
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

static void client_ready(struct source *s, uint32_t events) {
  struct client *c = container_of(s, struct client, source);
  if (events & (EPOLLHUP | EPOLLERR) || (events & EPOLLRDHUP && !(events & EPOLLIN))) return client_close(c);
  if (events & EPOLLIN) {
    char junk;
    if (c->mode == READING) client_read(c);
    else if (c->mode == VIEWING ? !viewer_input(c) : read(s->fd, &junk, 1) != -1) return client_close(c);
  }
  if (c->source.fd < 0 || !(events & EPOLLOUT)) return;
  struct node *n = c->mode == VIEWING ? c->node : NULL;
  client_update(c);
  if (n) viewers_flush(n);
}

static void listener_ready(struct source *s, uint32_t events) {
  (void)events;
  int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    if (errno == EMFILE || errno == ENFILE) source_watch(s, 0); /* until a client leaves */
    return;
  }
  /* The socket's mode lets only its owner in. Peers are outside the lab, so they have no pid here: a node's process would. */
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.pid != 0 || (only_own_id && peer.uid != 0)) {
    close(fd);
    return;
  }
  struct client *c = need(calloc(1, sizeof *c));
  c->source = (struct source){.fd = fd, .ready = client_ready};
  c->next = clients;
  clients = c;
  source_watch(&c->source, EPOLLIN);
  if (++client_count >= MAX_CLIENTS) source_watch(s, 0);
}

static void signals_ready(struct source *s, uint32_t events) {
  struct signalfd_siginfo info;
  (void)events;
  while (read(s->fd, &info, sizeof info) == sizeof info)
    if (info.ssi_signo == SIGTERM) _exit(0); /* the machine goes down */
  int status;
  pid_t pid;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    struct job *j = jobs;
    while (j && j->pid != pid) j = j->next;
    if (j) job_died(j, status);
    for (size_t i = 0; !j && i < node_count; i++)
      if (nodes[i]->pid == pid) {
        node_died(nodes[i], status);
        break;
      }
  }
}

/* ---- the lab's init ------------------------------------------------------------------------------------------------------------------- */

static _Noreturn void unready(const char *step) {
  dprintf(READY_FD, "%s: %s", step, strerror(errno));
  dprintf(2, "%s: %s\n", step, strerror(errno));
  _exit(71);
}

static _Noreturn void lab_init(char **argv) {
  lab = strchr(argv[1], '=') + 1;
  mark = argv[2];
  mark_room = strlen(mark) + 1;
  only_own_id = strncmp(mark, "init-own", 8) == 0;
  mark_process("init");
  prctl(PR_SET_NAME, "labwright-lab", 0, 0, 0);
  /* Nodes share our user id: without this their root could trace their init, which knows of other nodes. */
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) unready("prctl");
  /* What the machine unmounts goes here too; what we mount is never seen there. */
  if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0) unready("mount propagation");
  unsigned long quiet = MS_NOSUID | MS_NODEV | MS_NOEXEC, proc_times = time_flags("/proc"), sys_times = time_flags("/sys");
  if (mount("proc", "/proc", "proc", quiet | proc_times, NULL) < 0) unready("mount /proc");
  if (mount("sysfs", "/sys", "sysfs", quiet | sys_times, NULL) < 0) unready("mount /sys");
  if (loopback_up() < 0) unready("interface lo");
  own_pid_ns = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
  epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, SIGTERM);
  sigprocmask(SIG_SETMASK, &set, NULL);
  signal(SIGPIPE, SIG_IGN);
  signals = (struct source){.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), .ready = signals_ready};
  if (own_pid_ns < 0 || epoll_fd < 0 || signals.fd < 0) unready("event loop");
  getrlimit(RLIMIT_NOFILE, &file_limit);
  struct rlimit most = {file_limit.rlim_max, file_limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &most);
  if (file_limit.rlim_cur > 1024) file_limit.rlim_cur = 1024; /* programs that close every possible descriptor */
  source_watch(&signals, EPOLLIN);
  listener.ready = listener_ready;
  source_watch(&listener, EPOLLIN);
  if (write(READY_FD, "", 1) != 1) _exit(71);
  close(READY_FD);

  for (;;) {
    struct epoll_event events[64];
    struct client *spawning = clients;
    while (spawning && spawning->mode != SPAWNING) spawning = spawning->next;
    int count = epoll_wait(epoll_fd, events, ARRAY(events), spawning ? 0 : timers_wait());
    for (int i = 0; i < count; i++) {
      struct source *s = events[i].data.ptr;
      if (s->fd >= 0 && s->events) s->ready(s, events[i].events);
    }
    timers_fire();
    if (spawning && spawning->mode == SPAWNING) spawn_some(spawning);
    while (buried > 0) free(graves[--buried]);
  }
}

/* ---- the launcher --------------------------------------------------------------------------------------------------------------------- */

static _Noreturn void fail(const char *what) {
  fprintf(stderr, "labwright-holder: %s: %s\n", what, strerror(errno));
  exit(1);
}

static void put(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, text, strlen(text)) < 0) fail(path);
  close(fd);
}

/* Clock ticks after boot when the process started: with its pid, who it is. */
static unsigned long long start_time(pid_t pid) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (n <= 0) fail(path);
  close(fd);
  text[n] = 0;
  char *at = strrchr(text, ')');
  for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
  return at ? strtoull(at, NULL, 10) : 0;
}

/* In the clone: root of the new user namespace, then this program anew. Anew, because only then do the kernel's rules on tracing count
 * by the lab's user namespace; and through a read-only mount, so that no node can ever write to the program file. */
static _Noreturn void become_init(int go, const char *lab_arg, bool range) {
  struct { uint64_t set, clear, propagation, userns; } read_only = {.set = 1 /* MOUNT_ATTR_RDONLY */};
  char first;
  if (read(go, &first, 1) != 1) _exit(0); /* the launcher died */
  /* By its path, for /proc/self/exe is a file of the launcher's mount namespace; and still with the launcher's right to walk there. */
  char program[4096];
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  program[length < 0 ? 0 : length] = 0;
  int self = (int)syscall(428 /* open_tree */, AT_FDCWD, program, 1 /* OPEN_TREE_CLONE */ | O_CLOEXEC);
  if (self < 0 || syscall(442 /* mount_setattr */, self, "", AT_EMPTY_PATH, &read_only, sizeof read_only) < 0) unready("read-only program");
  if (range && setgroups(0, NULL) < 0) unready("setgroups");
  if (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0) unready("become the lab's root");
  setsid();
  if (chdir("/") < 0) unready("enter /");
  char *argv[] = {"labwright-holder", (char *)(uintptr_t)lab_arg, range ? "init-range              " : "init-own                ", NULL};
  char *env[] = {(char *)(uintptr_t)default_path, NULL};
  close_range(READY_FD + 1, ~0u, CLOSE_RANGE_CLOEXEC);
  syscall(SYS_execveat, self, "", argv, env, AT_EMPTY_PATH);
  unready("run the holder");
}

static int launch(int argc, char **argv) {
  const char *lab_arg = NULL, *dir = NULL;
  unsigned long base = 0, count = 0;
  for (int i = 1; i < argc; i++) {
    if (!strncmp(argv[i], "lab=", 4)) lab_arg = argv[i];
    else if (!strncmp(argv[i], "dir=", 4)) dir = argv[i] + 4;
    else if (!strncmp(argv[i], "uid-base=", 9)) base = strtoul(argv[i] + 9, NULL, 10);
    else if (!strncmp(argv[i], "uid-count=", 10)) count = strtoul(argv[i] + 10, NULL, 10);
    else lab_arg = NULL, argc = 0;
  }
  bool named = lab_arg && lab_arg[4] && strlen(lab_arg) < 256;
  for (const char *p = lab_arg; named && *p; p++) named = (unsigned char)*p >= ' ' && !strchr("\"\\", *p);
  if (!named || !dir || (base > 0) != (count > 0)) {
    fprintf(stderr, "usage: labwright-holder lab=<id> dir=<directory> [uid-base=N uid-count=N]\n");
    return 2;
  }
  /* Mapped to the machine's real root, a node's root could write to the machine's kernel settings. */
  if (geteuid() == 0 && count == 0) {
    fprintf(stderr, "labwright-holder: as root a range of ids is needed (uid-base, uid-count)\n");
    return 2;
  }
  close_range(3, ~0u, 0);
  umask(077);
  if (chdir(dir) < 0) fail(dir);
  struct rlimit none = {0, 0}, files = {1 << 20, 1 << 20}, processes = {MAX_PROCESSES, MAX_PROCESSES};
  setrlimit(RLIMIT_CORE, &none);
  setrlimit(RLIMIT_NPROC, &processes);
  setrlimit(RLIMIT_NOFILE, &files); /* refused to all but root: then what we have must do */
  int listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), null = open("/dev/null", O_RDWR);
  int log = open("holder.log", O_WRONLY | O_CREAT | O_APPEND, 0600), go[2], ready[2];
  if (listen_fd < 0 || null < 0 || log < 0 || pipe(go) < 0 || pipe(ready) < 0) fail(dir);
  /* Held as long as the lab lives, for the log stays its standard error. */
  if (flock(log, LOCK_EX | LOCK_NB) < 0) {
    fprintf(stderr, "labwright-holder: a lab lives in %s already\n", dir);
    return 3;
  }
  struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "holder.sock"};
  unlink(address.sun_path);
  if (bind(listen_fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(listen_fd, 1024) < 0) fail("holder.sock");

  pid_t pid = clone_process(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS);
  if (pid < 0) fail("clone");
  if (pid == 0) {
    int away[] = {fcntl(listen_fd, F_DUPFD, 20), fcntl(ready[1], F_DUPFD, 20), fcntl(go[0], F_DUPFD, 20)};
    dup2(null, 0), dup2(log, 1), dup2(log, 2);
    dup2(away[0], LISTEN_FD), dup2(away[1], READY_FD);
    int gate = dup2(away[2], READY_FD + 1);
    close_range(READY_FD + 2, ~0u, 0); /* above all the other end of the gate */
      become_init(gate, lab_arg, count > 0);
  }
  char path[64], text[512];
  unsigned long long start = start_time(pid);
  const char *maps[] = {"uid_map", "gid_map"};
  unsigned long own[] = {geteuid(), getegid()};
  if (count == 0) {
    snprintf(path, sizeof path, "/proc/%d/setgroups", pid);
    put(path, "deny");
  }
  for (int i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "/proc/%d/%s", pid, maps[i]);
    snprintf(text, sizeof text, "0 %lu %lu\n", count ? base : own[i], count ? count : 1);
    put(path, text);
  }
  /* Before it goes on: a lab that lives is always written down. */
  snprintf(text, sizeof text, "{\"lab\":\"%s\",\"pid\":%d,\"start\":%llu,\"version\":%d}\n", lab_arg + 4, pid, start, PROTOCOL);
  int record = open("holder.json.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (record < 0 || !write_all(record, text, strlen(text)) || rename("holder.json.new", "holder.json") < 0) fail("holder.json");
  if (write(go[1], "g", 1) != 1) fail("start");
  close(ready[1]);
  ssize_t n = read(ready[0], path, sizeof path - 1);
  if (n != 1 || path[0] != 0) {
    fprintf(stderr, "labwright-holder: %.*s\n", n > 0 ? (int)n : 23, n > 0 ? path : "the lab's init has died");
    waitpid(pid, NULL, 0);
    unlink("holder.json");
    unlink("holder.sock");
    return 1;
  }
  signal(SIGPIPE, SIG_IGN);
  write_all(1, text, strlen(text));
  return 0;
}

int main(int argc, char **argv) {
  if (getpid() == 1 && argc == 3 && !strncmp(argv[2], "init-", 5)) lab_init(argv);
  return launch(argc, argv);
}
