/* A request's lines, as the asker reads them before it opens sockets and as the shaper carries them out. */
#include "../request.c"
#include "../ask.c"
#include "../control.c"

int epoll_fd = -1;
struct cable *cables;

int device_index(const char *name) { return name[0] == 'p' ? 7 : 0; }
const char *end_open(struct end *e, const char *name, int mtu, bool many) {
  (void)e, (void)name, (void)mtu, (void)many;
  return NULL;
}
void end_close(struct end *e) { e->fd = -1; }
uint64_t end_missed(struct end *e) { return e->fd < 0; }
int become_daemon(int listener) { return listener; }
bool cable_leaves(long id) { return id == 3; }
bool leaving_find(const void *source) { return !source; }
void leaving_ended(const void *source) { (void)source; }
void cables_drained(void) {}
int64_t next_due(void) { return INT64_MAX; }
int64_t now_ns(void) { return 0; }
void release_due(void) {}
void take_frames(struct direction *d, struct end *in) { (void)d, (void)in; }

static struct cable *cable(long id) {
  struct cable *c = cables;
  while (c && c->id != id) c = c->next;
  if (!c) {
    c = calloc(1, sizeof *c);
    *c = (struct cable){.id = id, .flow = {{.cable = c}, {.cable = c}}, .next = cables};
    cables = c;
  }
  return c;
}

const char *cable_take(long id, int mtu, struct end ends[2]) {
  if (ends[0].fd < 0 || ends[1].fd < 0) abort(); /* a cable without sockets */
  if (ends[0].slot == 0 || ends[0].slots > ends[0].bytes / ends[0].slot) abort(); /* a ring that ends before its last slot */
  cable(id)->mtu = mtu;
  return NULL;
}

const char *cable_put(long id, int mtu, const struct settings set[2]) {
  struct cable *c = cable(id);
  for (int i = 0; i < 2; i++) {
    if (set[i].delay < 0 || set[i].jitter < 0 || set[i].jitter > 3600000000000) abort();
    c->flow[i].set = set[i];
  }
  c->mtu = mtu;
  return NULL;
}

void cable_drop(long id) { cable(id)->draining = true; }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *request = malloc(size + 1);
  *(char *)mempcpy(request, data, size) = 0;
  opening_count = 0;
  if (!collect_openings(request, "\n1 1500 7 7\n.\n")) abort();
  free(openings);
  openings = NULL;
  free(request);

  struct client c = {.fd = -1, .socket_count = 4, .sockets = (int[]){10, 11, 12, 13}};
  text_add(&c.in, data, size);
  answer(&c);
  if (c.out.failed || c.out.length == 0 || c.out.data[c.out.length - 1] != '\n') abort();
  text_free(&c.in);
  text_free(&c.out);
  while (cables) {
    struct cable *next = cables->next;
    free(cables);
    cables = next;
  }
  return 0;
}
