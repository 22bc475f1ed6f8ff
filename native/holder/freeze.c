/*
 * Suspends and resumes nodes: all that a request names, or none.
 *
 * A control group freezes a node at once. If no hierarchy can do that, signals do, which shells in the node may notice. They come from a process in the
 * node's pid namespace, because only such a process can signal all others there. The node could hold that process up, so the holder does not wait for
 * it: it works on, and requests that the change could overtake are deferred until the change has ended.
 */
#include "lab.h"
#include <sys/syscall.h>

enum { MAX_SIGNALLING_MS = 1000 };

/* A suspension or resumption by signals. It ends with its processes, or when its time is over. */
struct freeze {
  bool freeze;
  struct client *client; /* NULL: nobody waits for it */
  struct { struct node *node; pid_t signaller; } *parts; /* node NULL: it has ended */
  size_t count;
  struct timer timeout;
  struct freeze *next;
};

static struct freeze *freezes;
static bool has_ended;

static int signal_of(bool freeze) { return freeze ? SIGSTOP : SIGCONT; }

/*
 * Starts a process in the node's pid namespace that signals all processes there except init. It waits for a byte first, so that nothing has happened
 * yet if the process of a later node cannot be started. Returns its pid, or -1 with errno.
 */
static pid_t start_signaller(const struct node *n, int signal, const int go[2]) {
  int node_fd = (int)syscall(SYS_pidfd_open, n->pid, 0);
  pid_t pid = node_fd < 0 || setns(node_fd, CLONE_NEWPID) < 0 ? -1 : clone_process(0);
  if (pid == 0) {
    char byte;
    close(go[1]);
    if (read(go[0], &byte, 1) == 1) kill(-1, signal);
    _exit(0); /* a node without other processes is not an error */
  }
  int problem = errno;
  if (node_fd >= 0) close(node_fd);
  if (setns(own_pid_ns, CLONE_NEWPID) < 0) {
    dprintf(2, "cannot return to the lab's pid namespace: %s\n", strerror(errno));
    _exit(71);
  }
  errno = problem;
  return pid;
}

static void set_state(struct node *n, bool freeze) {
  enum state state = freeze ? SUSPENDED : n->resumed_state;
  if (freeze) n->resumed_state = n->state;
  node_changed(n, state);
}

static void freeze_end(struct freeze *f) {
  timer_stop(&f->timeout);
  for (struct freeze **at = &freezes; *at; at = &(*at)->next)
    if (*at == f) {
      *at = f->next;
      break;
    }
  for (size_t i = 0; i < f->count; i++) {
    struct node *n = f->parts[i].node;
    /* A late signal must not undo the next request. */
    if (f->parts[i].signaller) kill(f->parts[i].signaller, SIGKILL);
    if (!n) continue;
    kill(n->pid, signal_of(f->freeze));
    n->signalling = false;
    set_state(n, f->freeze);
  }
  if (f->client) {
    f->client->freeze = NULL;
    reply(f->client, 'R', NULL, 0);
    finish(f->client);
  }
  has_ended = true;
  free(f->parts);
  free_later(f);
}

static void freeze_timeout(struct timer *t) { freeze_end(container_of(t, struct freeze, timeout)); }

static void freeze_end_if_signalled(struct freeze *f) {
  size_t left = 0;
  for (size_t i = 0; i < f->count; i++) left += f->parts[i].signaller != 0;
  if (left == 0) freeze_end(f);
}

bool signaller_died(pid_t pid) {
  for (struct freeze *f = freezes; f; f = f->next)
    for (size_t i = 0; i < f->count; i++)
      if (f->parts[i].signaller == pid) {
        f->parts[i].signaller = 0;
        freeze_end_if_signalled(f);
        return true;
      }
  return false;
}

void freeze_forget_node(struct node *n) {
  n->signalling = false;
  for (struct freeze *f = freezes; f; f = f->next)
    for (size_t i = 0; i < f->count; i++)
      if (f->parts[i].node == n) f->parts[i].node = NULL;
}

void freeze_forget_client(struct client *c) {
  if (c->freeze) c->freeze->client = NULL;
  c->freeze = NULL;
}

void handle_deferred(void) {
  if (!has_ended) return;
  has_ended = false;
  for (struct client *c = clients; c; c = c->next)
    if (c->mode == DEFERRED) c->mode = RETRIED;
  for (;;) {
    struct client *oldest = NULL;
    for (struct client *c = clients; c; c = c->next)
      if (c->mode == RETRIED) oldest = c; /* new clients are at the front */
    if (!oldest) return;
    oldest->mode = READING;
    handle(oldest);
  }
}

/* Starts the signallers of the nodes that no control group froze, or undoes everything. Returns their number, or -1 with errno. */
static ssize_t freeze_start(struct freeze *f, int go[2]) {
  size_t ready = 0;
  ssize_t signallers = 0;
  for (; ready < f->count; ready++) {
    const struct node *n = f->parts[ready].node;
    if (groups_freeze(n->id, f->freeze)) continue;
    pid_t pid = start_signaller(n, signal_of(f->freeze), go);
    if (pid < 0) break;
    f->parts[ready].signaller = pid;
    signallers++;
  }
  if (ready == f->count) return signallers;
  int problem = errno;
  for (size_t i = 0; i < ready; i++)
    if (!f->parts[i].signaller) groups_freeze(f->parts[i].node->id, !f->freeze);
  errno = problem;
  return -1;
}

int nodes_freeze(struct client *c, struct node **which, size_t count, bool freeze) {
  int go[2];
  if (pipe2(go, O_CLOEXEC) < 0) return -1;
  struct freeze *f = need(calloc(1, sizeof *f));
  *f = (struct freeze){.freeze = freeze, .count = count, .parts = need(calloc(count + 1, sizeof *f->parts))};
  for (size_t i = 0; i < count; i++) f->parts[i].node = which[i];
  ssize_t signallers = freeze_start(f, go);
  int problem = errno;
  for (ssize_t i = 0; i < signallers; i++)
    if (write(go[1], "", 1) < 0) dprintf(2, "freeze: %s\n", strerror(errno));
  close(go[0]);
  close(go[1]); /* a signaller without its byte ends */
  if (signallers < 0) {
    free(f->parts);
    free(f);
    return errno = problem, -1;
  }
  /* Nodes that a control group has frozen need no more work. */
  for (size_t i = 0; i < count; i++) {
    if (f->parts[i].signaller) which[i]->signalling = true;
    else f->parts[i].node = NULL, set_state(which[i], freeze);
  }
  if (signallers == 0) {
    free(f->parts);
    free(f);
    return 0;
  }
  f->next = freezes;
  freezes = f;
  f->client = c;
  if (c) {
    c->freeze = f;
    c->mode = FREEZING;
  }
  timer_start(&f->timeout, MAX_SIGNALLING_MS, freeze_timeout);
  return 0;
}
