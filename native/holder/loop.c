/* The loop. */
#include "loop.h"
#include <sys/epoll.h>

int epoll_fd;
static struct timer *timers;
static void **pending_frees;
static size_t pending_count, pending_room;

void source_watch(struct source *s, uint32_t events) {
  struct epoll_event e = {.events = events, .data.ptr = s};
  if (s->fd < 0 || s->events == events) return;
  /* A source without wanted events is not registered: otherwise epoll would report its hang-up again and again. */
  int how = !events ? EPOLL_CTL_DEL : s->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  if (epoll_ctl(epoll_fd, how, s->fd, &e) == 0) {
    s->events = events;
    return;
  }
  dprintf(2, "epoll_ctl: %s\n", strerror(errno));
  /* The kernel counts watches for the user, whom nodes share: it may allow no more now. Not noted, so that the next change of the wanted events tries again. */
  if (how != EPOLL_CTL_ADD) s->events = events;
}

void source_close(struct source *s) {
  if (s->fd < 0) return;
  source_watch(s, 0);
  close(s->fd);
  s->fd = -1;
}

void free_later(void *object) {
  if (pending_count == pending_room) pending_frees = need(realloc(pending_frees, sizeof *pending_frees * (pending_room = pending_room ? pending_room * 2 : 64)));
  pending_frees[pending_count++] = object;
}

void timer_stop(struct timer *t) {
  if (!t->armed) return;
  struct timer **at = &timers;
  while (*at != t) at = &(*at)->next;
  *at = t->next;
  t->armed = false;
}

void timer_start(struct timer *t, int64_t delay, void (*fire)(struct timer *)) {
  timer_stop(t);
  *t = (struct timer){.due = clock_ms(CLOCK_MONOTONIC) + delay, .fire = fire, .next = timers, .armed = true};
  timers = t;
}

int timers_wait(void) {
  if (!timers) return -1;
  int64_t due = timers->due, now = clock_ms(CLOCK_MONOTONIC);
  for (struct timer *t = timers; t; t = t->next)
    if (t->due < due) due = t->due;
  return due <= now ? 0 : due - now > 60000 ? 60000 : (int)(due - now);
}

void timers_fire(void) {
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

void free_pending(void) {
  while (pending_count > 0) free(pending_frees[--pending_count]);
}
