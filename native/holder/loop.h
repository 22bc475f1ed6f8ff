/* The loop: sources of events, timers, and objects freed only between turns. */
#pragma once
#include "base.h"

struct source { int fd; uint32_t events; void (*ready)(struct source *, uint32_t); };
struct timer { int64_t due; void (*fire)(struct timer *); struct timer *next; bool armed; };

extern int epoll_fd;

void source_watch(struct source *s, uint32_t events);
void source_close(struct source *s);
void timer_start(struct timer *t, int64_t delay, void (*fire)(struct timer *));
void timer_stop(struct timer *t);
int timers_wait(void);
void timers_fire(void);

/* Frees it after this turn: events of the turn may still name it. */
void free_later(void *object);
void free_pending(void);
