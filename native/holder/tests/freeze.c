/* While signallers run, the loop continues, and requests that the change could overtake wait for its end. */
#include "../lab.h"
#include <sys/syscall.h>

/* Signallers are children that run until the test ends them, like those that a node blocks. */
static pid_t start_child(unsigned long flags);
static pid_t signalled[16];
static int signals[16];
static size_t signal_count;
static int record_kill(pid_t pid, int signal);
#define setns(fd, type) ((void)(fd), (void)(type), 0)
#define kill(pid, signal) record_kill(pid, signal)
#define clone_process start_child
#include "../freeze.c"
#undef kill
#undef clone_process
#include "../../fuzz/check.h"
#include <sys/wait.h>

struct client *clients;
int own_pid_ns;
static pid_t children[8];
static size_t child_count, children_allowed = 8;
static size_t replies, handled;
static struct client *handled_order[8];
static struct timer *timer;
static bool has_group;

static pid_t start_child(unsigned long flags) {
  CHECK(flags == 0);
  if (child_count == children_allowed) return errno = EAGAIN, -1;
  pid_t pid = fork();
  if (pid == 0)
    for (;;) pause();
  return children[child_count++] = pid;
}

static int record_kill(pid_t pid, int signal) {
  signalled[signal_count] = pid;
  signals[signal_count++] = signal;
  return 0;
}

bool groups_freeze(long id, bool freeze) { return has_group && id && (freeze || !freeze); }
void node_changed(struct node *n, enum state state) { n->state = state; }
void timer_start(struct timer *t, int64_t delay, void (*fire)(struct timer *)) {
  CHECK(delay > 0);
  timer = t;
  t->fire = fire;
}
void timer_stop(struct timer *t) {
  CHECK(timer == t);
  timer = NULL;
}
void free_later(void *object) { free(object); }
void finish(struct client *c) { c->mode = ENDING; }
void reply(struct client *c, char type, const void *data, size_t length) {
  CHECK(c->mode == FREEZING && type == 'R' && !data && !length);
  replies++;
}
void handle(struct client *c) { handled_order[handled++] = c; }

static struct node first, second;
static struct client asker;

static void begin(void) {
  child_count = signal_count = replies = handled = 0;
  children_allowed = 8;
  has_group = has_ended = false;
  first = (struct node){.id = 1, .pid = getpid(), .state = RUNNING};
  second = (struct node){.id = 2, .pid = getpid(), .state = BOOTING};
  asker = (struct client){.mode = READING};
  clients = &asker;
}

static void end_children(void) {
  for (size_t i = 0; i < child_count; i++) {
    kill(children[i], SIGKILL);
    CHECK(waitpid(children[i], NULL, 0) == children[i]);
  }
}

static void the_reply_comes_when_all_signallers_have_ended(void) {
  begin();
  CHECK(nodes_freeze(&asker, (struct node *[]){&first, &second}, 2, true) == 0);
  /* The call has returned, although both signallers still run. */
  CHECK(child_count == 2 && asker.mode == FREEZING && replies == 0);
  CHECK(first.state == RUNNING && first.signalling && second.signalling);
  CHECK(signaller_died(children[1]) && replies == 0 && first.state == RUNNING);
  CHECK(signaller_died(children[0]) && replies == 1 && asker.mode == ENDING);
  CHECK(first.state == SUSPENDED && second.state == SUSPENDED && !first.signalling && !second.signalling);
  CHECK(signal_count == 2 && signals[0] == SIGSTOP && signals[1] == SIGSTOP && !timer);
  CHECK(!signaller_died(children[0]));
  CHECK(nodes_freeze(&asker, (struct node *[]){&second}, 1, false) == 0 && signaller_died(children[2]));
  CHECK(second.state == BOOTING && signals[2] == SIGCONT);
  end_children();
}

static void a_signaller_that_does_not_end_is_killed(void) {
  begin();
  CHECK(nodes_freeze(&asker, (struct node *[]){&first}, 1, true) == 0 && timer);
  timer->fire(timer);
  CHECK(replies == 1 && first.state == SUSPENDED && signal_count == 2);
  CHECK(signalled[0] == children[0] && signals[0] == SIGKILL && signalled[1] == first.pid && signals[1] == SIGSTOP);
  end_children();
}

static void requests_wait_for_the_change_and_the_oldest_is_handled_first(void) {
  begin();
  struct client old = {.mode = DEFERRED}, other = {.mode = WATCHING, .next = &old}, young = {.mode = DEFERRED, .next = &other};
  CHECK(nodes_freeze(&asker, (struct node *[]){&first}, 1, true) == 0);
  asker.next = &young;
  handle_deferred();
  CHECK(handled == 0);
  CHECK(signaller_died(children[0]));
  handle_deferred();
  CHECK(handled == 2 && handled_order[0] == &old && handled_order[1] == &young && other.mode == WATCHING);
  handle_deferred();
  CHECK(handled == 2);
  end_children();
}

static void a_node_that_ends_and_a_client_that_leaves_are_forgotten(void) {
  begin();
  CHECK(nodes_freeze(&asker, (struct node *[]){&first, &second}, 2, true) == 0);
  freeze_forget_node(&first);
  freeze_forget_client(&asker);
  first.pid = 0;
  first.state = FAILED;
  CHECK(signaller_died(children[0]) && signaller_died(children[1]));
  CHECK(replies == 0 && first.state == FAILED && second.state == SUSPENDED && signal_count == 1);
  end_children();
}

static void nothing_changes_if_one_node_cannot_be_signalled(void) {
  begin();
  children_allowed = 1;
  CHECK(nodes_freeze(&asker, (struct node *[]){&first, &second}, 2, true) == -1 && errno == EAGAIN);
  CHECK(!first.signalling && first.state == RUNNING && second.state == BOOTING && asker.mode == READING && signal_count == 0);
  end_children();
}

static void a_control_group_freezes_at_once(void) {
  begin();
  has_group = true;
  CHECK(nodes_freeze(&asker, (struct node *[]){&first, &second}, 2, true) == 0);
  CHECK(child_count == 0 && asker.mode == READING && first.state == SUSPENDED && second.state == SUSPENDED && !first.signalling);
}

int main(void) {
  own_pid_ns = -1;
  the_reply_comes_when_all_signallers_have_ended();
  a_signaller_that_does_not_end_is_killed();
  requests_wait_for_the_change_and_the_oldest_is_handled_first();
  a_node_that_ends_and_a_client_that_leaves_are_forgotten();
  nothing_changes_if_one_node_cannot_be_signalled();
  a_control_group_freezes_at_once();
  return 0;
}
