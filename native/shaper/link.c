/* Shaped links. */
#include "shaper.h"
#include <fcntl.h>
#include <sys/epoll.h>

struct shaped_link *links;

/*
 * Devices that a child process removes. The process that closes a packet socket last, or deletes a device, waits some 10 ms for the kernel's readers; it
 * must not be the process that passes frames.
 */
struct removal { int done; size_t count; struct removal *next; long ids[]; };

static struct removal *removals;
static int begin[2] = {-1, -1}; /* this turn's child waits for its end of file, which comes when the shaper has closed its sockets */

bool link_is_being_removed(long id) {
  for (const struct removal *l = removals; l; l = l->next)
    for (size_t i = 0; i < l->count; i++)
      if (l->ids[i] == id) return true;
  return false;
}

bool removal_find(const void *source) {
  const struct removal *l = removals;
  while (l && l != source) l = l->next;
  return l;
}

/* The child has ended: the devices are removed. */
void removal_ended(const void *source) {
  for (struct removal **at = &removals; *at; at = &(*at)->next) {
    struct removal *l = *at;
    if (l != source) continue;
    *at = l->next;
    epoll_ctl(epoll_fd, EPOLL_CTL_DEL, l->done, NULL);
    close(l->done);
    free(l);
    return;
  }
}

static void remove_in_child(const struct shaped_link *first, size_t count) {
  int done[2] = {-1, -1};
  struct removal *l = calloc(1, sizeof *l + count * sizeof *l->ids);
  bool able = l && pipe2(done, O_CLOEXEC) == 0 && (begin[0] >= 0 || pipe2(begin, O_CLOEXEC) == 0);
  pid_t pid = able ? fork() : -1;
  if (pid == 0) {
    char none;
    control_forget();
    close(begin[1]);
    while (read(begin[0], &none, 1) < 0 && errno == EINTR) {}
  }
  if (pid <= 0) {
    /* The child removes the devices. If no child could be started, this process does. */
    devices_delete(first, count);
    if (pid == 0) _exit(0);
    close(done[0]), close(done[1]);
    free(l);
    return;
  }
  close(done[1]);
  l->done = done[0];
  for (const struct shaped_link *c = first; c && l->count < count; c = c->next) l->ids[l->count++] = c->id;
  l->next = removals;
  removals = l;
  struct epoll_event e = {.events = EPOLLIN, .data.ptr = l};
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, l->done, &e);
}

/* The shaper's sockets are closed: this turn's children may continue. */
static void removals_begin(void) {
  for (int i = 0; i < 2; i++) {
    if (begin[i] >= 0) close(begin[i]);
    begin[i] = -1;
  }
}

struct shaped_link *link_find(long id) {
  struct shaped_link *c = links;
  while (c && c->id != id) c = c->next;
  return c;
}

/* Takes the frames that are in the rings, then closes the rings. */
static void close_ends(struct shaped_link *c) {
  if (c->ends[0].fd < 0) return;
  for (int i = 0; i < 2; i++) {
    while (end_waiting(&c->ends[i])) receive_frames(&c->flow[i], &c->ends[i]);
    epoll_ctl(epoll_fd, EPOLL_CTL_DEL, c->ends[i].fd, NULL);
    end_close(&c->ends[i]);
  }
}

/* Gives a link the sockets that ask.c has opened. Creates the link if it does not exist. The link owns the sockets from now on, also after a failure. */
const char *link_attach(long id, int mtu, struct end ends[2]) {
  struct shaped_link *c = link_find(id);
  const char *problem = NULL;
  for (int i = 0; i < 2 && !problem; i++) problem = end_map(&ends[i]);
  bool fresh = !c;
  if (!problem && fresh && !(c = calloc(1, sizeof *c))) problem = "memory";
  if (problem) {
    int why = errno;
    for (int i = 0; i < 2; i++) end_close(&ends[i]);
    errno = why;
    return problem;
  }
  if (fresh) {
    c->id = id;
    c->next = links;
    links = c;
  }
  for (int i = 0; i < 2 && fresh; i++) {
    c->ends[i].fd = -1;
    c->flow[i].link = c;
    c->flow[i].out = &c->ends[1 - i];
    flow_seed(&c->flow[i], (uint64_t)id << 1 | (unsigned)i);
  }
  close_ends(c);
  c->mtu = mtu;
  for (int i = 0; i < 2; i++) {
    c->ends[i] = ends[i];
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = &c->flow[i]};
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, c->ends[i].fd, &e) < 0) problem = "epoll";
  }
  return problem;
}

const char *link_configure(long id, int mtu, const struct settings set[2]) {
  struct shaped_link *c = link_find(id);
  if (!c || c->mtu != mtu || link_is_being_removed(id)) return errno = ENODEV, "Cannot find device";
  c->draining = false;
  for (int i = 0; i < 2; i++) flow_configure(&c->flow[i], &set[i]);
  return NULL;
}

/* Stops taking frames from the link. Its devices are removed when the delayed frames have left. */
void link_remove(long id) {
  struct shaped_link *c = link_find(id);
  if (c) {
    c->draining = true;
    return;
  }
  if (link_is_being_removed(id)) return;
  struct shaped_link stranger = {.id = id, .ends = {{.fd = -1}, {.fd = -1}}};
  remove_in_child(&stranger, 1);
}

static bool drained(struct shaped_link *c) {
  for (int i = 0; i < 2 && c->draining; i++)
    while (end_waiting(&c->ends[i])) receive_frames(&c->flow[i], &c->ends[i]);
  return c->draining && !c->flow[0].queued && !c->flow[1].queued;
}

/* Removes draining links that are empty. */
void links_remove_drained(void) {
  struct shaped_link *empty = NULL;
  size_t count = 0;
  for (struct shaped_link **at = &links; *at;) {
    struct shaped_link *c = *at;
    if (!drained(c)) {
      at = &c->next;
      continue;
    }
    *at = c->next;
    c->next = empty;
    empty = c;
    count++;
  }
  if (empty) remove_in_child(empty, count);
  for (struct shaped_link *next; empty; empty = next) {
    next = empty->next;
    close_ends(empty);
    free(empty);
  }
  removals_begin();
}
