/* Suspending nodes: all that are asked for, or none. */
#include "lab.h"
#include <poll.h>
#include <sys/syscall.h>

enum { HERALDS_MS = 1000 /* a node may hold its own herald up; nobody else waits longer for it */ };

/*
 * Where no control group freezes, signals do, which shells in the node may notice. Signals to all processes of a node but its init come from one
 * that enters its pid namespace. It is made first and waits for a word, so that nothing has happened yet where one cannot be made.
 */
static pid_t herald(struct node *n, int signal, const int go[2]) {
  int node_fd = (int)syscall(SYS_pidfd_open, n->pid, 0);
  pid_t pid = node_fd < 0 || setns(node_fd, CLONE_NEWPID) < 0 ? -1 : clone_process(0);
  if (pid == 0) {
    char word;
    close(go[1]);
    if (read(go[0], &word, 1) == 1) kill(-1, signal);
    _exit(0); /* that nobody is there is as good */
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

/* Until these are gone: what is asked next must not overtake them. */
static void await_heralds(const pid_t *heralds, size_t count) {
  int64_t end = clock_ms(CLOCK_MONOTONIC) + HERALDS_MS;
  for (size_t i = 0; i < count; i++) {
    struct pollfd gone = {.fd = heralds[i] > 0 ? (int)syscall(SYS_pidfd_open, heralds[i], 0) : -1, .events = POLLIN};
    if (gone.fd < 0) continue;
    int64_t left = end - clock_ms(CLOCK_MONOTONIC);
    poll(&gone, 1, left > 0 ? (int)left : 0);
    close(gone.fd);
  }
}

int nodes_freeze(struct node **which, size_t count, bool freeze) {
  int go[2], signal = freeze ? SIGSTOP : SIGCONT;
  if (pipe2(go, O_CLOEXEC) < 0) return -1;
  pid_t *heralds = need(calloc(count + 1, sizeof *heralds)); /* 0: by control group */
  size_t ready = 0;
  while (ready < count) {
    if (!groups_freeze(which[ready]->id, freeze) && (heralds[ready] = herald(which[ready], signal, go)) < 0) break;
    ready++;
  }
  int problem = errno;
  if (ready == count) {
    for (size_t i = 0; i < count; i++)
      if (heralds[i] > 0 && write(go[1], "", 1) < 0) dprintf(2, "node %ld: freeze: %s\n", which[i]->id, strerror(errno));
    await_heralds(heralds, count);
    for (size_t i = 0; i < count; i++)
      if (heralds[i] > 0) kill(which[i]->pid, signal);
  } else {
    for (size_t i = 0; i < ready; i++)
      if (heralds[i] == 0) groups_freeze(which[i]->id, !freeze);
  }
  close(go[0]);
  close(go[1]); /* whoever still waits for a word leaves */
  free(heralds);
  if (ready < count) return errno = problem, -1;
  for (size_t i = 0; i < count; i++) {
    enum state state = freeze ? SUSPENDED : which[i]->thawed;
    if (freeze) which[i]->thawed = which[i]->state;
    node_changed(which[i], state);
  }
  return 0;
}
