/* A guest that gives up its first attempt to connect, as on a busy machine, gets its settings at the next one. */
#include "../vm.h"
#undef GUEST_SETTINGS
#undef GUEST_MARK
#define GUEST_SETTINGS "/dev/null"
#define GUEST_MARK "/dev/null"
#include "../guest.c"
#include "../../fuzz/check.h"
#include <poll.h>
#include <stdlib.h>

int terminal_fd = -1;
static bool ready, taking, saved;

void fail(const char *format, ...) {
  (void)format;
  abort();
}
void ports_report(void) {}
void save_state(void) { saved = true; }
bool taking_snapshot(void) { return taking; }
bool is_ready(void) { return ready; }
void mark_ready(void) { ready = true; }
void guest_has_failed(int code) { (void)code; }

static struct sockaddr_in address;

static void listen_anywhere(void) {
  address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  guest_fd = listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  CHECK(bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 1) == 0);
  CHECK(getsockname(listener, (struct sockaddr *)&address, &(socklen_t){sizeof address}) == 0);
}

/* Returns the guest's end of a new connection. */
static int attempt(void) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
  return fd;
}

static bool refused(void) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bool is = connect(fd, (struct sockaddr *)&address, sizeof address) < 0 && errno == ECONNREFUSED;
  close(fd);
  return is;
}

/* Closes the connection without a word, so that what the supervisor sends fails. */
static void give_up(int fd) {
  CHECK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger)) == 0);
  close(fd);
}

/* Returns the type of the next message. */
static char next(int fd) {
  struct guest_message m = {.most = GUEST_PIECE};
  int got;
  while ((got = guest_receive(fd, &m)) == 0) {}
  CHECK(got > 0);
  const char type = m.type;
  guest_next(&m);
  return type;
}

/* Runs the supervisor until there is nothing more to read. */
static void events(void) {
  for (struct pollfd p; p = (struct pollfd){.fd = guest_fd, .events = POLLIN}, poll(&p, 1, 100) > 0;) guest_events();
}

static void becomes_a_node(void) {
  listen_anywhere();
  give_up(attempt());
  events();
  CHECK(!guest_connected());
  int abandoned = attempt();
  events();
  close(abandoned); /* after the supervisor has accepted it */
  events();
  CHECK(!guest_connected());
  int fd = attempt();
  events();
  CHECK(guest_connected() && next(fd) == 'C' && next(fd) == 'G');
  CHECK(guest_send(fd, 'B', "0", 1));
  events();
  CHECK(ready && refused());
  close(fd);
  events();
  CHECK(!guest_connected() && guest_fd == -1);
}

static void becomes_a_snapshot(void) {
  ready = false;
  taking = true;
  listen_anywhere();
  int abandoned = attempt();
  events();
  close(abandoned);
  events();
  CHECK(!saved);
  int fd = attempt();
  events();
  while (next(fd) == 'M') {
    /* As if the guest had waited since then. */
    clock_gettime(CLOCK_MONOTONIC, &asked);
    asked.tv_sec--;
    asked.tv_nsec += 1000000000 - PAUSE_MS * 1000000;
    CHECK(guest_send(fd, 'M', "", 0));
    events();
  }
  CHECK(refused() && !saved);
  close(fd);
  events();
  CHECK(saved);
}

int main(void) {
  becomes_a_node();
  becomes_a_snapshot();
  return 0;
}
