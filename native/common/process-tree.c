#include "process-tree.h"
#include "memory.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { MAX_ROUNDS = 32 /* searches of the process table; each finds what was started during the one before */ };

struct process {
  pid_t pid, parent, session;
  enum { UNKNOWN, INSIDE, OUTSIDE } place;
  bool stopped, ended, killed;
};

/* Sorted by pid, as /proc is. */
struct table { struct process *items; size_t count, room; };

struct roots { const pid_t *pids; size_t count; };

void adopt_orphans(void) { prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

/* Reads /proc/PID/stat. Returns false if the process no longer exists. */
static bool process_read(const char *pid, struct process *p) {
  char path[64], text[512], state = 0;
  int parent = 0, session = 0;
  if (snprintf(path, sizeof path, "/proc/%s/stat", pid) >= (int)sizeof path) return false;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  if (length <= 0) return false;
  text[length] = 0;
  const char *name_end = strrchr(text, ')');
  if (!name_end || sscanf(name_end + 1, " %c %d %*d %d", &state, &parent, &session) != 3) return false;
  *p = (struct process){.pid = (pid_t)strtol(pid, NULL, 10), .parent = parent, .session = session, .stopped = state == 'T', .ended = state == 'Z' || state == 'X'};
  return true;
}

static void table_read(struct table *t) {
  t->count = 0;
  DIR *all = opendir("/proc");
  for (struct dirent *e = all ? readdir(all) : NULL; e; e = readdir(all)) {
    struct process p;
    if (*e->d_name < '1' || *e->d_name > '9' || !process_read(e->d_name, &p)) continue;
    if (t->count == t->room) t->items = need(realloc(t->items, sizeof *t->items * (t->room = t->room ? t->room * 2 : 256)));
    t->items[t->count++] = p;
  }
  if (all) closedir(all);
}

static struct process *table_find(const struct table *t, pid_t pid) {
  size_t low = 0, high = t->count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (t->items[middle].pid < pid) low = middle + 1;
    else high = middle;
  }
  return low < t->count && t->items[low].pid == pid ? &t->items[low] : NULL;
}

static bool is_root(const struct roots *r, pid_t pid) {
  for (size_t i = 0; i < r->count; i++)
    if (r->pids[i] == pid) return true;
  return false;
}

/* Whether the process is in the session of a root, or below one of these processes. Notes the answer for all that are on the way. */
static bool is_inside(const struct table *t, const struct roots *r, struct process *p) {
  struct process *at = p;
  size_t steps = 0;
  bool inside = false;
  /* A pid that was used again can make a circle. */
  while (at && at->place == UNKNOWN && !inside && steps++ < t->count) {
    inside = is_root(r, at->pid) || is_root(r, at->session);
    if (!inside) at = table_find(t, at->parent);
  }
  inside = inside || (at && at->place == INSIDE);
  for (struct process *q = p; q && q->place == UNKNOWN; q = q == at ? NULL : table_find(t, q->parent)) q->place = inside ? INSIDE : OUTSIDE;
  return inside;
}

/*
 * Kills what is inside, except the roots, which are stopped. Returns whether all of it had been killed or had ended before this search began: a process
 * that ended or was killed since then may have started another one, which the search has not seen.
 */
static bool kill_inside(struct table *t, const struct table *before, const struct roots *r) {
  bool is_all = true;
  for (size_t i = 0; i < t->count; i++) {
    struct process *p = &t->items[i];
    if (is_root(r, p->pid)) {
      is_all = is_all && (p->stopped || p->ended);
      continue;
    }
    if (!is_inside(t, r, p)) continue;
    p->killed = !p->ended && kill(p->pid, SIGKILL) == 0;
    const struct process *known = table_find(before, p->pid);
    is_all = is_all && known && (known->killed || known->ended);
  }
  return is_all;
}

void kill_trees(const pid_t *pids, size_t count) {
  const struct roots roots = {pids, count};
  struct table now = {0}, before = {0};
  /* A root goes on adopting until the end. Without it, what it started would be below init. */
  for (int i = 0; i < MAX_ROUNDS; i++) {
    for (size_t k = 0; k < count; k++) kill(pids[k], SIGSTOP);
    table_read(&now);
    const bool is_all = kill_inside(&now, &before, &roots);
    const struct table swap = before;
    before = now;
    now = swap;
    if (is_all) break;
  }
  for (size_t i = 0; i < count; i++) kill(-pids[i], SIGKILL), kill(pids[i], SIGKILL);
  free(now.items);
  free(before.items);
}
