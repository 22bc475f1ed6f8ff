/* Cables: the shaped links. */
#include "shaper.h"
#include <sys/epoll.h>

enum { MANY = 16 /* cables from which on each gets a shorter ring */ };

struct cable *cables;
static size_t cable_count;

struct cable *cable_find(long id) {
  struct cable *c = cables;
  while (c && c->id != id) c = c->next;
  return c;
}

static void names(char text[2][16], char first, long id) {
  for (int i = 0; i < 2; i++) snprintf(text[i], sizeof text[i], "%c%ld%c", first, id, "ab"[i]);
}

static const char *open_ends(struct cable *c, int mtu) {
  char name[2][16];
  names(name, 'p', c->id);
  for (int i = 0; i < 2; i++) {
    struct end fresh;
    const char *problem = end_open(&fresh, name[i], mtu, cable_count > MANY);
    if (problem) return problem;
    while (end_waiting(&c->ends[i])) take_frames(&c->flow[i], &c->ends[i]);
    end_close(&c->ends[i]);
    c->ends[i] = fresh;
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = &c->flow[i]};
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fresh.fd, &e) < 0) return "epoll";
  }
  c->mtu = mtu;
  return NULL;
}

static bool stands(const struct cable *c) {
  char name[2][16];
  names(name, 'p', c->id);
  for (int i = 0; i < 2; i++)
    if (device_index(name[i]) != c->ends[i].index) return false;
  return true;
}

const char *cable_put(long id, int mtu, const struct settings set[2]) {
  struct cable *c = cable_find(id);
  bool fresh = !c;
  if (fresh) {
    c = calloc(1, sizeof *c);
    if (!c) return "out of memory";
    c->id = id;
    for (int i = 0; i < 2; i++) {
      c->ends[i].fd = -1;
      c->flow[i].cable = c;
      c->flow[i].out = &c->ends[1 - i];
      flow_seed(&c->flow[i], (uint64_t)id << 1 | (unsigned)i);
    }
    c->next = cables;
    cables = c;
    cable_count++;
  }
  if (fresh || c->mtu != mtu || !stands(c)) {
    const char *problem = open_ends(c, mtu);
    if (problem) {
      int why = errno;
      if (fresh) cable_close(c);
      errno = why;
      return problem;
    }
  }
  c->draining = false;
  for (int i = 0; i < 2; i++) flow_settings(&c->flow[i], &set[i]);
  return NULL;
}

/* Forgets the cable; its frames have left. */
void cable_close(struct cable *c) {
  for (struct cable **at = &cables; *at; at = &(*at)->next)
    if (*at == c) {
      *at = c->next;
      break;
    }
  cable_count--;
  for (int i = 0; i < 2; i++) end_close(&c->ends[i]);
  free(c);
}

/* Nothing comes in any more; its devices go when what is on its way has left. */
void cable_drop(long id) {
  struct cable *c = cable_find(id);
  if (c) {
    c->draining = true;
    return;
  }
  char name[2][16];
  names(name, 'q', id);
  for (int i = 0; i < 2; i++) device_delete(name[i]);
}

/* Of those that drain, the ones that are empty go. */
void cables_drained(void) {
  for (struct cable *c = cables, *next; c; c = next) {
    next = c->next;
    if (!c->draining) continue;
    for (int i = 0; i < 2; i++) while (end_waiting(&c->ends[i])) take_frames(&c->flow[i], &c->ends[i]);
    if (c->flow[0].queued || c->flow[1].queued) continue;
    long id = c->id;
    cable_close(c);
    cable_drop(id);
  }
}
