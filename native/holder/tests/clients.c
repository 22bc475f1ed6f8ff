/* Texts of replies arrive unchanged, each with its final NUL. */
#include "../clients.c"
#include "../../fuzz/check.h"
#include "../base.c"

struct source listener;
char *lab;

void source_watch(struct source *s, uint32_t events) { s->events = events; }
void source_close(struct source *s) { s->fd = -1; }
void timer_start(struct timer *t, int64_t delay, void (*fire)(struct timer *)) { (void)delay, (void)fire, (void)t; }
void free_later(void *object) { (void)object; }
void job_update(struct job *j) { (void)j; }
void job_abandon(struct job *j) { (void)j; }
bool job_full(const struct job *j) { return !j; }
bool job_fed(struct client *c) { return c; }
void viewer_flush(struct client *c) { (void)c; }
bool viewer_behind(const struct client *c) { return !c; }
void viewers_flush(struct node *n) { (void)n; }
bool viewer_input(struct client *c) { return c; }
void handle(struct client *c) { (void)c; }
void freeze_forget_client(struct client *c) { (void)c; }

/* Sends the refusal and returns its frame's data. */
static size_t refusal(const char *text, char *data, size_t room) {
  int pair[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  struct client c = {.source = {.fd = pair[0]}};
  refuse(&c, "system", text);
  ssize_t got = recv(pair[1], data, room, 0);
  CHECK(got > 5);
  uint32_t length;
  memcpy(&length, data, sizeof length);
  CHECK(length + sizeof length == (size_t)got && data[4] == 'E');
  memmove(data, data + 5, (size_t)got - 5);
  close(pair[0]), close(pair[1]);
  return (size_t)got - 5;
}

static void check(const char *text) {
  static char data[8192];
  size_t length = refusal(text, data, sizeof data);
  CHECK(length == sizeof "system" + strlen(text) + 1);
  CHECK(!memcmp(data, "system", sizeof "system") && !memcmp(data + sizeof "system", text, strlen(text) + 1));
}

int main(void) {
  static char long_text[3000];
  memset(long_text, 'x', sizeof long_text - 1);
  check("No such device");
  check("");
  check("a byte\x1fthat once separated texts");
  check(long_text);
  return 0;
}
