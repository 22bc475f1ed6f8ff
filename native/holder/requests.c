/* The requests of the holder's socket. */
#include "node.h"
#include <sys/ioctl.h>

/* Reports the nodes that the request names, or all. */
static void do_info(struct client *c, struct reader *r) {
  struct list ids = r->at < r->end ? reader_list(r, 1) : (struct list){0};
  bool some = ids.count > 0;
  if (r->bad) return refuse(c, "protocol", "malformed info");
  for (uint32_t i = 0; i < ids.count; i++) {
    const struct node *n = node_find(reader_number(&ids.items, INT32_MAX));
    if (!ids.items.bad && n) reply_node(c, n);
  }
  for (size_t i = 0; i < node_count && !some; i++) reply_node(c, nodes[i]);
  struct text fields = {0};
  text_field(&fields, "%d", PROTOCOL);
  text_field(&fields, "%s", lab);
  reply_texts(c, 'R', &fields);
  finish(c);
}

static void do_watch(struct client *c) {
  for (size_t i = 0; i < node_count; i++) reply_node(c, nodes[i]);
  reply(c, 'R', NULL, 0);
  c->mode = WATCHING;
  client_update(c);
}

static void do_spawn(struct client *c, struct reader *r) {
  struct reader check = *r;
  struct spawn s;
  size_t count = 0;
  while (!check.bad && check.at < check.end && reader_spawn(&check, &s)) count++;
  if (check.bad) return refuse(c, "protocol", "malformed spawn");
  c->waits = need(calloc(count + 1, sizeof *c->waits));
  c->rest = *r;
  c->spawned = true;
  c->mode = SPAWNING;
}

static void do_release(struct client *c, struct reader *r) {
  struct list ids = reader_list(r, 1);
  struct reader check = ids.items;
  if (r->bad) return refuse(c, "protocol", "malformed release");
  for (uint32_t i = 0; i < ids.count; i++) {
    struct node *n = node_find(reader_number(&check, INT32_MAX));
    if (check.bad) return refuse(c, "protocol", "malformed release");
    if (!n) return refuse(c, "no-node", "no such node to release");
  }
  for (uint32_t i = 0; i < ids.count; i++) {
    struct node *n = node_find(reader_number(&ids.items, INT32_MAX));
    if (n->state != WAITING) continue; /* already released, or dead: clients see that in its state */
    if (write(n->control.fd, "R", 1) != 1) continue; /* dead, and SIGCHLD is still to come */
    n->started = clock_ms(CLOCK_REALTIME);
    node_changed(n, BOOTING);
  }
  reply(c, 'R', NULL, 0);
  finish(c);
}

/* Sets limits: id, then a list of (hierarchy or "rlimit", file, value). They apply at once to running nodes, and to other nodes when they are spawned. */
static void do_limits(struct client *c, struct reader *r) {
  struct reader check = *r;
  while (!check.bad && check.at < check.end) {
    reader_number(&check, INT32_MAX);
    struct list items = reader_list(&check, 3);
    for (uint32_t i = 0; i < items.count * 3 && !check.bad; i++) reader_text(&items.items);
    check.bad = check.bad || items.items.bad;
  }
  if (check.bad) return refuse(c, "protocol", "malformed limits");
  while (r->at < r->end) {
    long id = reader_number(r, INT32_MAX);
    struct list items = reader_list(r, 3);
    for (uint32_t i = 0; i < items.count; i++) {
      const char *where = reader_text(&items.items), *file = reader_text(&items.items), *value = reader_text(&items.items);
      if (strcmp(where, "rlimit") == 0) node_make(id)->max_file_bytes = strtol(value, NULL, 10);
      else if (group_limit(id, strtol(where, NULL, 10), file, value) < 0) {
        const char *reason = strerror(errno);
        struct text problem = {0};
        text_format(&problem, "%s %s: %s", file, value, reason);
        if (problem.failed) need(NULL);
        reply_problem(c, id, 0, problem.data);
        text_free(&problem);
        break;
      }
    }
  }
  reply(c, 'R', NULL, 0);
  finish(c);
}

/* Defers the request if one of its nodes is being suspended or resumed. */
static bool defer(struct client *c, struct list ids) {
  for (uint32_t i = 0; i < ids.count; i++) {
    const struct node *n = node_find(reader_number(&ids.items, INT32_MAX));
    if (!n || !n->signalling) continue;
    c->mode = DEFERRED;
    return true;
  }
  return false;
}

static bool defer_for(struct client *c, const struct node *n) {
  if (n->signalling) c->mode = DEFERRED;
  return n->signalling;
}

static void do_freeze(struct client *c, struct reader *r) {
  bool freeze = strcmp(reader_text(r), "freeze") == 0;
  struct list ids = reader_list(r, 1);
  if (r->bad) return refuse(c, "protocol", "malformed freeze");
  if (defer(c, ids)) return;
  struct node **which = need(calloc(ids.count + 1, sizeof *which));
  size_t count = 0;
  for (uint32_t i = 0; i < ids.count; i++) {
    struct node *n = node_find(reader_number(&ids.items, INT32_MAX));
    bool can = !ids.items.bad && n && n->pid && (freeze ? n->state == RUNNING || n->state == BOOTING : n->state == SUSPENDED);
    for (size_t k = 0; can && k < count; k++) can = which[k] != n; /* named twice */
    if (can) which[count++] = n;
  }
  int rc = nodes_freeze(c, which, count, freeze);
  free(which);
  if (rc < 0) return refuse(c, "system", strerror(errno));
  if (c->mode == FREEZING) return; /* the client gets its reply when all processes are signalled */
  reply(c, 'R', NULL, 0);
  finish(c);
}

static void do_stop(struct client *c, struct reader *r) {
  bool graceful = strcmp(reader_text(r), "graceful") == 0;
  long grace = reader_number(r, INT32_MAX);
  struct list ids = reader_list(r, 1);
  if (r->bad) return refuse(c, "protocol", "malformed stop");
  if (defer(c, ids)) return;
  /* A frozen node could not end. */
  struct reader suspended = ids.items;
  for (uint32_t i = 0; i < ids.count; i++) {
    struct node *n = node_find(reader_number(&suspended, INT32_MAX));
    if (!suspended.bad && n && n->pid && n->state == SUSPENDED) nodes_freeze(NULL, &n, 1, false);
  }
  if (defer(c, ids)) return;
  c->waits = need(calloc(ids.count + 1, sizeof *c->waits));
  for (uint32_t i = 0; i < ids.count; i++) {
    struct node *n = node_find(reader_number(&ids.items, INT32_MAX));
    if (ids.items.bad || !n || !n->pid) continue;
    c->waits[c->wait_count++].node = n;
    bool gently = graceful && grace > 0 && (n->state == BOOTING || n->state == RUNNING || n->state == STOPPING);
    if (gently && (!n->grace.armed || n->grace.due > clock_ms(CLOCK_MONOTONIC) + grace)) timer_start(&n->grace, grace, node_kill);
    if (n->state != STOPPING || !gently) kill(n->pid, gently ? SIGTERM : SIGKILL);
    if (n->state != STOPPING) node_changed(n, STOPPING);
  }
  c->mode = AWAITING;
  report_waits(c);
}

static bool texts_ok(struct list texts) {
  for (uint32_t i = 0; i < texts.count; i++) reader_text(&texts.items);
  return !texts.items.bad;
}

/* Starts the program, unless the node does not run. */
static void start_in(struct client *c, struct node *n, const struct program *p) {
  if (!n) return refuse(c, "no-node", "no such node");
  if (defer_for(c, n)) return;
  if (!n->pid || n->state == SETUP || n->state == SUSPENDED) return refuse(c, "not-running", "the node does not run");
  job_start(c, n, p);
}

static void do_job(struct client *c, struct reader *r, bool in_node) {
  struct node *n = in_node ? node_find(reader_number(r, INT32_MAX)) : NULL;
  struct program p = {.directory = ""};
  p.timeout = reader_number(r, INT32_MAX);
  p.argv = reader_list(r, 1);
  p.input = reader_bytes(r, &p.length);
  if (r->bad || !texts_ok(p.argv) || p.argv.count == 0) return refuse(c, "protocol", "malformed program");
  if (in_node) start_in(c, n, &p);
  else job_start(c, NULL, &p);
}

static void do_process(struct client *c, struct reader *r) {
  struct node *n = node_find(reader_number(r, INT32_MAX));
  struct program p = {.feeds = true};
  p.timeout = reader_number(r, INT32_MAX);
  p.size.ws_col = (unsigned short)reader_number(r, 10000);
  p.size.ws_row = (unsigned short)reader_number(r, 10000);
  p.terminal = p.size.ws_col > 0;
  p.directory = reader_text(r);
  p.argv = reader_list(r, 1);
  p.env = reader_list(r, 1);
  if (r->bad || !texts_ok(p.argv) || !texts_ok(p.env) || p.argv.count == 0) return refuse(c, "protocol", "malformed program");
  start_in(c, n, &p);
}

static void do_join(struct client *c, struct reader *r) {
  struct node *n = node_find(reader_number(r, INT32_MAX));
  struct list argv = reader_list(r, 1);
  struct reader check = argv.items;
  for (uint32_t i = 0; i < argv.count; i++) reader_text(&check);
  if (r->bad || check.bad || argv.count == 0) return refuse(c, "protocol", "malformed program");
  if (!n) return refuse(c, "no-node", "no such node");
  if (defer_for(c, n)) return;
  if (!n->pid || n->state == SETUP || n->state == SUSPENDED) return refuse(c, "not-running", "the node does not run");
  job_join(c, n, argv);
}

static void do_connect(struct client *c, struct reader *r, bool datagrams) {
  struct node *n = node_find(reader_number(r, INT32_MAX));
  int port = (int)reader_number(r, 65535);
  if (r->bad || port == 0) return refuse(c, "protocol", "malformed connect");
  if (!n) return refuse(c, "no-node", "no such node");
  if (defer_for(c, n)) return;
  if (!n->pid || n->state == SETUP || n->state == SUSPENDED) return refuse(c, "not-running", "the node does not run");
  job_connect(c, n, port, datagrams);
}

static void do_console(struct client *c, struct reader *r, bool stay) {
  struct node *n = node_find(reader_number(r, INT32_MAX));
  if (r->bad) return refuse(c, "protocol", "malformed console");
  if (!n) return refuse(c, "no-node", "no such node");
  if (stay && n->pty.fd < 0) return refuse(c, "not-running", "the node does not run");
  uint64_t at = scrollback_start(n);
  if (stay) {
    struct text fields = {0};
    text_field(&fields, "%llu", (unsigned long long)(n->total - at));
    reply_texts(c, 'R', &fields);
    c->node = n;
    c->at = at;
    c->until = UINT64_MAX;
    c->mode = VIEWING;
    kill(n->pid, SIG_CONSOLE_OPENED);
    return client_update(c);
  }
  while (at < n->total) {
    size_t from = at % RING, length = n->total - at < RING - from ? n->total - at : RING - from;
    reply(c, 'O', n->ring + from, length);
    at += length;
  }
  reply(c, 'R', NULL, 0);
  finish(c);
}

static void do_resize(struct client *c, struct reader *r) {
  struct node *n = node_find(reader_number(r, INT32_MAX));
  struct winsize size = {0};
  size.ws_col = (unsigned short)reader_number(r, 10000);
  size.ws_row = (unsigned short)reader_number(r, 10000);
  if (r->bad) return refuse(c, "protocol", "malformed resize");
  if (!n) return refuse(c, "no-node", "no such node");
  if (n->pty.fd < 0) return refuse(c, "not-running", "the node does not run");
  if (ioctl(n->pty.fd, TIOCSWINSZ, &size) < 0) return refuse(c, "system", strerror(errno));
  reply(c, 'R', NULL, 0);
  finish(c);
}

static void do_destroy(struct client *c) {
  reply(c, 'R', NULL, 0);
  client_update(c);
  _exit(0);
}

void handle(struct client *c) {
  struct reader r = {.at = c->in.data + 4, .end = c->in.data + c->in.end};
  long version = reader_number(&r, INT32_MAX);
  const char *what = reader_text(&r);
  if (r.bad) return refuse(c, "protocol", "malformed request");
  if (version != PROTOCOL) return refuse(c, "version", "this holder speaks protocol 1");
  if (!strcmp(what, "info")) do_info(c, &r);
  else if (!strcmp(what, "watch")) do_watch(c);
  else if (!strcmp(what, "spawn")) do_spawn(c, &r);
  else if (!strcmp(what, "release")) do_release(c, &r);
  else if (!strcmp(what, "stop")) do_stop(c, &r);
  else if (!strcmp(what, "limits")) do_limits(c, &r);
  else if (!strcmp(what, "freeze")) do_freeze(c, &r);
  else if (!strcmp(what, "run")) do_job(c, &r, false);
  else if (!strcmp(what, "exec")) do_job(c, &r, true);
  else if (!strcmp(what, "process")) do_process(c, &r);
  else if (!strcmp(what, "join")) do_join(c, &r);
  else if (!strcmp(what, "connect")) do_connect(c, &r, false);
  else if (!strcmp(what, "datagrams")) do_connect(c, &r, true);
  else if (!strcmp(what, "console")) do_console(c, &r, true);
  else if (!strcmp(what, "tail")) do_console(c, &r, false);
  else if (!strcmp(what, "resize")) do_resize(c, &r);
  else if (!strcmp(what, "destroy")) do_destroy(c);
  else refuse(c, "protocol", "unknown request");
}
