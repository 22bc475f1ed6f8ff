/* Requests of the holder's socket, all commands. Stubs replace the functions that act on nodes. */
#include <stdlib.h>
#include "../base.c"
#include "../spawn.c"
#include <signal.h>
/* Instead of ending the lab or a process. */
#define kill(pid, signal) ((void)(pid), (void)(signal))
#define _exit(code) return
#include "../requests.c"
#undef _exit

char *lab = (char *)"fuzz";
static struct node running = {.id = 1, .pid = 1, .state = RUNNING, .control.fd = -1, .pty.fd = -1};
static struct node suspended = {.id = 2, .pid = 2, .state = SUSPENDED, .control.fd = -1, .pty.fd = -1};
static struct node *table[] = {&running, &suspended};
struct node **nodes = table;
size_t node_count = ARRAY(table);

struct node *node_find(long id) { return id == 1 || id == 2 ? table[id - 1] : NULL; }
struct node *node_make(long id) { return table[id & 1]; }
void node_changed(struct node *n, enum state state) { (void)n, (void)state; }
void node_kill(struct timer *t) { (void)t; }
int nodes_freeze(struct client *c, struct node **which, size_t count, bool freeze) {
  (void)c;
  for (size_t i = 0; i < count; i++) freeze = freeze && which[i]->pid;
  return freeze ? 0 : -1;
}
int group_limit(long id, long hierarchy, const char *file, const char *value) { return id + hierarchy + *file + *value > 100 ? 0 : -1; }
uint64_t scrollback_start(const struct node *n) { return n->first; }
void timer_start(struct timer *t, int64_t delay, void (*fire)(struct timer *)) { (void)t, (void)delay, (void)fire; }
void report_waits(struct client *c) { (void)c; }
void finish(struct client *c) { c->mode = ENDING; }
void client_update(struct client *c) { (void)c; }
void reply(struct client *c, char type, const void *data, size_t length) { (void)c, (void)type, (void)data, (void)length; }
void reply_node(struct client *c, const struct node *n) { (void)c, (void)n; }
void reply_texts(struct client *c, char type, struct text *fields) { (void)c, (void)type, text_free(fields); }
void reply_problem(struct client *c, long id, pid_t pid, const char *problem) { (void)c, (void)id, (void)pid, (void)problem; }
void refuse(struct client *c, const char *code, const char *text) {
  (void)code, (void)text;
  finish(c);
}

/* Reads every text as exec would. */
static void use(struct list list) {
  char **vector = list_to_vector(list);
  size_t count = 0, bytes = 0;
  for (; vector[count]; count++) bytes += strlen(vector[count]);
  if (count != list.count || bytes > (size_t)(list.items.end - list.items.at)) abort();
  free(vector);
}

void job_join(struct client *c, struct node *n, struct list argv) {
  (void)c, (void)n;
  use(argv);
}
void job_connect(struct client *c, struct node *n, int port, bool datagrams) {
  (void)c, (void)n, (void)datagrams;
  if (port < 1 || port > 65535) abort();
}
void job_start(struct client *c, struct node *n, const struct program *p) {
  (void)c, (void)n;
  use(p->argv);
  use(p->env);
  volatile char last = p->length ? p->input[p->length - 1] : p->directory[strlen(p->directory)];
  (void)last;
}

static void spawn(struct client *c) {
  while (c->rest.at < c->rest.end) {
    struct spawn s;
    if (!reader_spawn(&c->rest, &s)) abort(); /* it was checked before */
    const struct list lists[] = {s.lower, s.env, s.boot, s.console, s.main, s.devices};
    for (size_t i = 0; i < ARRAY(lists); i++) use(lists[i]);
    for (uint32_t i = 0; i < s.files.count; i++) {
      size_t length;
      if (*reader_text(&s.files.items) != '/') abort();
      reader_number(&s.files.items, 07777);
      reader_bytes(&s.files.items, &length);
      if (s.files.items.bad) abort();
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  /* The allocation has exactly the request's size, unlike the holder's buffer, so that the sanitizer finds a read behind its end. */
  char *request = malloc(4 + size);
  memset(request, 0, 4);
  if (size) memcpy(request + 4, data, size);
  struct client c = {.source.fd = -1, .in = {.data = request, .end = 4 + size, .size = 4 + size}};
  handle(&c);
  if (c.mode == SPAWNING) spawn(&c);
  free(c.waits);
  free(request);
  return 0;
}
