/*
 * Snapshots of guests with a kernel of their own. `vm snapshot` boots a guest up to the point at which it would become a node, and saves its state as
 * hibernation does. A node whose root has such a state starts from it. If that fails, its kernel boots.
 */
#include "vm.h"
#include <time.h>

enum { PATIENCE_S = 60 /* a busy machine */ };

static bool taking, refused, opened;
static time_t begun;

static time_t now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec;
}

void snapshot_prepare(void) { taking = true; }

void snapshot_refuse(void) { refused = true; }

bool taking_snapshot(void) { return taking; }

/* Opens the snapshot. Returns -1 if there is none. */
int snapshot_open(void) {
  int fd = taking || refused ? -1 : open(SNAPSHOT, O_RDONLY | O_CLOEXEC);
  opened = fd >= 0;
  begun = now_s();
  return fd;
}

bool snapshot_begins(void) { return opened && !guest_connected(); }

bool snapshot_late(void) { return snapshot_begins() && now_s() - begun > PATIENCE_S; }
