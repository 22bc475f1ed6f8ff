/* Stubs of the parts around request.c and control.c, for tests that carry out requests without the kernel. Link 3 is being removed. */
#pragma once
#include "../shaper.h"

int epoll_fd = -1;
struct shaped_link *links;

void end_close(struct end *e) { e->fd = -1; }
uint64_t end_missed(struct end *e) { return e->fd < 0; }
bool link_is_being_removed(long id) { return id == 3; }
bool removal_find(const void *source) { return !source; }
void removal_ended(const void *source) { (void)source; }
void links_remove_drained(void) {}
int64_t next_due(void) { return INT64_MAX; }
int64_t now_ns(void) { return 0; }
void release_due(void) {}
void receive_frames(struct direction *d, struct end *in) { (void)d, (void)in; }
