/* Parses the lines of a request twice: as ask.c does before it opens sockets, and as the shaper does to carry them out. */
#include "../request.c"
#include "../ask.c"
#include "../control.c"
#include "../tests/fakes.h"


int device_index(const char *name) { return name[0] == 'p' ? 7 : 0; }
const char *end_open(struct end *e, const char *name, int mtu, bool many) {
  (void)e, (void)name, (void)mtu, (void)many;
  return NULL;
}
int become_daemon(int listener) { return listener; }

static struct shaped_link *fake_link(long id) {
  struct shaped_link *c = links;
  while (c && c->id != id) c = c->next;
  if (!c) {
    c = calloc(1, sizeof *c);
    *c = (struct shaped_link){.id = id, .flow = {{.link = c}, {.link = c}}, .next = links};
    links = c;
  }
  return c;
}

const char *link_attach(long id, int mtu, struct end ends[2]) {
  if (ends[0].fd < 0 || ends[1].fd < 0) abort(); /* a link without sockets */
  if (ends[0].slot == 0 || ends[0].slots > ends[0].bytes / ends[0].slot) abort(); /* a ring that ends before its last slot */
  fake_link(id)->mtu = mtu;
  return NULL;
}

const char *link_configure(long id, int mtu, const struct settings set[2]) {
  struct shaped_link *c = fake_link(id);
  for (int i = 0; i < 2; i++) {
    if (set[i].delay < 0 || set[i].jitter < 0 || set[i].jitter > 3600000000000) abort();
    c->flow[i].set = set[i];
  }
  c->mtu = mtu;
  return NULL;
}

void link_remove(long id) { fake_link(id)->draining = true; }

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
  while (links) {
    struct shaped_link *next = links->next;
    free(links);
    links = next;
  }
  return 0;
}
