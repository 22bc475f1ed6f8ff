/* The output of a node's terminal, in the scrollback and to a viewer. The first byte gives the size of the pieces. */
#include "../base.c"
#include "../console.c"

struct client *clients;
void client_update(struct client *c) { (void)c; }
void source_watch(struct source *s, uint32_t events) { s->events = events; }
void timer_start(struct timer *t, int64_t delay, void (*fire)(struct timer *)) { (void)delay, t->armed = fire; }
void timer_stop(struct timer *t) { t->armed = false; }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2) return 0;
  int line[2], screen[2];
  if (pipe2(line, O_NONBLOCK) < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, screen) < 0) abort();
  struct node n = {.pty.fd = line[0]};
  struct client c = {.source.fd = screen[0], .mode = VIEWING, .node = &n, .until = UINT64_MAX};
  clients = &c;
  size_t piece = 4096 + (size_t)data[0] * 64;
  /* Writes the output repeatedly, until it has wrapped around the end of the ring. */
  static uint8_t output[RING + RING / 2];
  for (size_t at = 0; at < sizeof output; at++) output[at] = data[1 + at % (size - 1)];
  for (size_t written = 0; written < sizeof output;) {
    size_t left = sizeof output - written;
    ssize_t sent = write(line[1], output + written, left < piece ? left : piece);
    if (sent > 0) written += (size_t)sent;
    if (!pty_read(&n, true)) abort();
    uint64_t at = scrollback_start(&n);
    if (at < n.first || at > n.total || n.total - at > RING) abort();
    viewer_flush(&c);
    if (c.at > n.total || n.total - c.at > RING) abort();
    char text[4096];
    while (data[0] & 1 && read(screen[1], text, sizeof text) > 0) {}
  }
  c.out.end = c.out.start;
  buffer_free(&c.out);
  if (n.ring) munmap(n.ring, RING);
  for (int i = 0; i < 2; i++) close(line[i]), close(screen[i]);
  return 0;
}
