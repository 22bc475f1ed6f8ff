/* Nodes as the holder sees them: the table, their reports, their start and their end. */
#include "id-range.h"
#include "node.h"
#include <linux/sched.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

struct node **nodes;
size_t node_count;
static size_t node_room;
static struct timer fabric_sync;

enum {
  FABRIC_SYNC_MS = 50, /* one sync for all nodes that boot within this time */
  FABRIC_SYNC_SHARE = 20, /* syncs take at most 1/FABRIC_SYNC_SHARE of the time */
};
static int64_t fabric_sync_took;

static size_t node_place(long id) {
  size_t low = 0, high = node_count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (nodes[middle]->id < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

struct node *node_find(long id) {
  size_t place = node_place(id);
  return place < node_count && nodes[place]->id == id ? nodes[place] : NULL;
}

struct node *node_make(long id) {
  struct node *n = node_find(id);
  if (n) return n;
  size_t place = node_place(id);
  if (node_count == node_room) nodes = need(realloc(nodes, sizeof *nodes * (node_room = node_room ? node_room * 2 : 64)));
  memmove(nodes + place + 1, nodes + place, (node_count++ - place) * sizeof *nodes);
  n = need(calloc(1, sizeof *n));
  *n = (struct node){.id = id, .state = STOPPED, .exit_code = -1, .control.fd = -1, .pty.fd = -1};
  return nodes[place] = n;
}

void node_changed(struct node *n, enum state state) {
  n->state = state;
  for (struct client *c = clients, *next; c; c = next) {
    next = c->next;
    if (c->mode == AWAITING || c->mode == SPAWNING) report_waits(c);
    if (c->mode != WATCHING) continue;
    reply_node(c, n);
    /* Drops a slow watcher, which must not take unlimited memory. It connects again and gets all states. */
    if (c->out.end - c->out.start > OUT_HIGH) client_close(c);
    else client_update(c);
  }
}

static void fabric_sync_due(struct timer *t) {
  (void)t;
  int64_t begin = clock_ms(CLOCK_MONOTONIC);
  sync_carriers();
  fabric_sync_took = clock_ms(CLOCK_MONOTONIC) - begin;
}

/* Boot may have brought the node's ports up; then the fabric's ends have carrier now. */
static void fabric_sync_soon(void) {
  int64_t pause = fabric_sync_took * FABRIC_SYNC_SHARE;
  if (!fabric_sync.armed) timer_start(&fabric_sync, pause > FABRIC_SYNC_MS ? pause : FABRIC_SYNC_MS, fabric_sync_due);
}

static void setup_close(struct node *n) {
  if (!n->setup.open) return;
  n->setup.open = false;
  groups_close(&n->setup.groups);
  close(n->setup.control);
}

static void control_read(struct node *n) {
  struct report r;
  union { struct cmsghdr header; char room[CMSG_SPACE(sizeof(int))]; } extra;
  for (;;) {
    struct iovec body = {&r, sizeof r};
    struct msghdr message = {.msg_iov = &body, .msg_iovlen = 1, .msg_control = &extra, .msg_controllen = sizeof extra};
    if (recvmsg(n->control.fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != sizeof r) return;
    setup_close(n);
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    int terminal = -1;
    if (c && c->cmsg_type == SCM_RIGHTS) memcpy(&terminal, CMSG_DATA(c), sizeof terminal);
    if (terminal >= 0 && n->state != SETUP) {
      close(terminal); /* it is being stopped already */
    } else if (r.kind == READY && terminal >= 0) {
      n->pty = (struct source){.fd = descriptor_keep(terminal), .ready = pty_ready};
      node_update(n);
      node_changed(n, WAITING);
    } else if (r.kind == SETUP_FAILED && n->state == SETUP) {
      r.step[sizeof r.step - 1] = 0;
      snprintf(n->problem, sizeof n->problem, "%s: %s", r.step, strerror(r.value));
      dprintf(2, "node %ld: %s\n", n->id, n->problem);
    } else if (r.kind == BOOTED || r.kind == BOOTED_WITHOUT_LINKS) {
      n->boot_code = r.value;
      if (n->state == BOOTING && r.value == 0) node_changed(n, RUNNING);
      if (n->state == SUSPENDED) n->resumed_state = RUNNING; /* it booted just before it was suspended */
      if (r.kind == BOOTED) fabric_sync_soon();
    }
  }
}

static void control_ready(struct source *s, uint32_t events) {
  control_read(container_of(s, struct node, control));
  if (events & (EPOLLHUP | EPOLLERR)) source_watch(s, 0);
}

void node_died(struct node *n, int status) {
  control_read(n);
  setup_close(n);
  source_close(&n->control);
  freeze_forget_node(n);
  timer_stop(&n->grace);
  timer_stop(&n->stall);
  n->paused = false;
  if (n->pty.fd >= 0)
    for (int i = 0; i < 64 && pty_read(n, true) && i < 63; i++) {}
  source_close(&n->pty);
  n->exit_code = n->boot_code > 0 ? n->boot_code : exit_code(status);
  if ((n->state == BOOTING || n->state == RUNNING) && n->exit_code != 0 && groups_out_of_memory(n->id))
    console_note(n, "\r\n[labwright: the node's memory was exhausted, and the kernel killed a program: raise its ram]\r\n");
  free(n->input);
  n->input = NULL;
  n->input_at = n->input_end = 0;
  n->pid = 0;
  groups_remove(n->id);
  if (n->state == SETUP && !*n->problem) snprintf(n->problem, sizeof n->problem, "set-up: ended with code %d", n->exit_code);
  /* A node that ended by itself with exit code 0 was powered off from inside. */
  node_changed(n, n->state == STOPPING || (n->state >= BOOTING && n->exit_code == 0) ? STOPPED : FAILED);
  for (struct client *c = clients, *next; c; c = next) {
    next = c->next;
    if (c->mode != VIEWING || c->node != n) continue;
    c->until = n->total;
    client_update(c);
  }
}

/* Whether the process of a node may share the holder's descriptors at first: it then drops those from KEPT_FD on. */
static bool setup_is_low(const struct node_setup *setup) {
  for (size_t i = 0; i < ARRAY(setup->groups.fds); i++)
    if (setup->groups.fds[i] >= KEPT_FD) return false;
  return setup->control < KEPT_FD;
}

static void spawn_node(struct client *c, struct node *n, struct spawn *s) {
  int pair[2];
  /* Closes viewers of the last run that still have not read its last output. */
  for (struct client *v = clients, *next; v; v = next) {
    next = v->next;
    if (v->mode == VIEWING && v->node == n) client_close(v);
  }
  free(n->env), free(n->boot), free(n->console), free(n->main);
  n->env = list_to_vector(s->env);
  n->boot = list_to_vector(s->boot);
  n->console = list_to_vector(s->console);
  n->main = list_to_vector(s->main);
  n->first = n->total;
  n->exit_code = -1;
  n->ring_bytes = 0;
  n->boot_code = 0;
  n->problem[0] = 0;
  n->started = clock_ms(CLOCK_REALTIME);
  n->state = SETUP;
  pid_t pid = -1;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0) {
    pair[0] = descriptor_keep(pair[0]);
    n->setup = (struct node_setup){.open = true, .control = pair[1], .groups = groups_open(n->id)};
    bool shared = setup_is_low(&n->setup);
    pid = groups_clone(&n->setup.groups, (shared ? CLONE_FILES : 0) | CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID);
    if (pid == 0) node_main(n, s, shared, &c->in);
    int problem = errno;
    if (pid > 0 && !(range_share(pid) && write(pair[0], "", 1) == 1)) {
      snprintf(n->problem, sizeof n->problem, "map its ids: %s", strerror(errno));
      kill(pid, SIGKILL);
    }
    if (pid < 0 || !shared) setup_close(n);
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

/* Starts a few nodes of the request. The rest follows after the other clients have been served. */
void spawn_some(struct client *c) {
  madvise(c->in.data, c->in.size, MADV_DOFORK);
  for (int i = 0; i < SPAWN_SLICE && c->rest.at < c->rest.end; i++) {
    struct spawn s;
    reader_spawn(&c->rest, &s);
    struct node *n = node_make(s.id);
    struct wait *w = &c->waits[c->wait_count++];
    *w = (struct wait){.node = n, .refused = n->pid != 0};
    if (!w->refused) spawn_node(c, n, &s);
  }
  madvise(c->in.data, c->in.size, MADV_DONTFORK);
  if (c->rest.at < c->rest.end) return;
  c->mode = AWAITING;
  report_waits(c);
}

void node_kill(struct timer *t) {
  struct node *n = container_of(t, struct node, grace);
  if (!n->pid) return;
  kill(n->pid, SIGKILL);
  snprintf(n->problem, sizeof n->problem, "did not end in time");
}
