/* The shaper: declarations of its parts. */
#pragma once
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
  BATCH = 64,                /* frames that are taken from one device, and sent, at a time */
  MAX_HELD = 256 << 20,      /* maximum bytes in all delay lines together */
  QUEUE_MS = 100,            /* maximum wait for bandwidth; */
  QUEUE_FRAMES = 16,         /* but this many full frames may always wait, also on a slow line */
  FRAME = 1514,
  MAX_REQUEST = 4 << 20,
};

/* Settings and counters of one direction. */
struct settings { int64_t delay, jitter; /* ns */ uint64_t loss; /* parts per 1e9 */ uint64_t kbit; /* 0: unlimited */ };
struct counters {
  uint64_t received, sent;
  uint64_t lost;     /* dropped: the configured loss */
  uint64_t overflow; /* dropped: no room before the bottleneck, in memory, or in a frame's slot */
  uint64_t missed;   /* dropped: arrived faster than they were taken */
  uint64_t refused;  /* dropped: the device is full or down */
};

/* A device whose frames the shaper takes and gives: the outer end of a veth pair. */
struct end {
  int fd, index;
  char *ring;
  size_t slot, slots, next, bytes;
};

struct direction {
  struct shaped_link *link;
  struct end *out;
  struct settings set;
  struct counters count;
  uint64_t random[4];
  int64_t free_at, last; /* times when the bottleneck is free and when the last frame leaves */
  uint64_t queued;
};

/* A shaped link. Frames that come in at ends[i] are flow[i] and leave at the other end. */
struct shaped_link {
  long id;
  int mtu;
  bool draining;
  struct end ends[2];
  struct direction flow[2];
  struct shaped_link *next;
};

struct packet { int64_t due; uint64_t order; struct direction *way; size_t length; char data[]; };

extern int epoll_fd;
extern struct shaped_link *links;
extern uint64_t seed;

int64_t now_ns(void);

/* link.c. Functions that can fail return NULL or a description of the failure, with errno set. */
struct shaped_link *link_find(long id);
const char *link_attach(long id, int mtu, struct end ends[2]);
const char *link_configure(long id, int mtu, const struct settings set[2]);
void link_remove(long id);
bool link_is_being_removed(long id);
bool removal_find(const void *source);
void removal_ended(const void *source);
void links_remove_drained(void);

/* device.c */
const char *end_open(struct end *e, const char *name, int mtu, bool many);
const char *end_map(struct end *e);
void end_close(struct end *e);
uint64_t end_missed(struct end *e);
int device_index(const char *name);
void devices_delete(const struct shaped_link *first, size_t count);
/* RTM_NEWLINK with an index puts this device into the group; without one it sets the flags of the whole group. RTM_DELLINK removes the group's devices. */
int group_request(int fd, unsigned short type, int index, unsigned flags, uint32_t group);

/* line.c */
bool flow_configure(struct direction *d, const struct settings *set);
void flow_seed(struct direction *d, uint64_t number);
bool end_waiting(const struct end *e);
void receive_frames(struct direction *d, struct end *in);
int64_t next_due(void);
void release_due(void);

/* main.c */
int become_daemon(int listener);

/* control.c */
int serve(int listener);
/* Called in a child. Closes the descriptors that only the shaper itself may hold. */
void control_forget(void);

/* ask.c: the other side of it. */
int ask(const char *lab, const char *request, bool start);
int watch(const char *lab);

/* redirect.c */
int redirects(char *text);
/* Makes frames that leave at the ports complete; one name a line. Returns an exit code. */
int plain_frames(char *text);
