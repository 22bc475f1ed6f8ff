/* A request or an answer for which there is no memory is refused as a whole. */
#include "../../fuzz/check.h"
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <fcntl.h>
#include <sys/socket.h>

static size_t max_memory = SIZE_MAX;
static void *scarce_realloc(void *old, size_t size) { return size > max_memory ? NULL : realloc(old, size); }

#define text_add tested_add
#define text_format tested_format
#define text_free tested_free
#define text_field tested_field
#define realloc scarce_realloc
#include "../../common/text.c"
#undef realloc
#include "../request.c"
#include "../control.c"
#include "fakes.h"

static int puts_done;

const char *link_attach(long id, int mtu, struct end ends[2]) {
  (void)id, (void)mtu, (void)ends;
  return NULL;
}
const char *link_configure(long id, int mtu, const struct settings set[2]) {
  (void)id, (void)mtu, (void)set;
  puts_done++;
  return NULL;
}
void link_remove(long id) { (void)id; }

/* Returns the length of the shaper's answer to the request. */
static size_t ask_for(const char *request) {
  int pair[2];
  static char answer_text[1 << 20];
  size_t length = 0;
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  CHECK(fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0 && fcntl(pair[1], F_SETFL, O_NONBLOCK) == 0);
  struct client *c = calloc(1, sizeof *c);
  *c = (struct client){.fd = pair[0], .next = clients};
  clients = c;
  struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
  CHECK(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, pair[0], &e) == 0);
  CHECK(send(pair[1], request, strlen(request), 0) == (ssize_t)strlen(request) && shutdown(pair[1], SHUT_WR) == 0);
  while (clients) {
    client_ready(c);
    ssize_t got = recv(pair[1], answer_text + length, sizeof answer_text - length, 0);
    if (got > 0) length += (size_t)got;
  }
  CHECK(length == 0 || answer_text[length - 1] == '\n');
  close(pair[1]);
  return length;
}

int main(void) {
  static const char put[] = "put 1 1500 0 0 0 0 0 0 0 0\n";
  epoll_fd = epoll_create1(0);
  struct shaped_link *many = calloc(500, sizeof *many);
  for (long i = 0; i < 500; i++) {
    many[i] = (struct shaped_link){.id = i, .mtu = 1500, .flow = {{.link = &many[i]}, {.link = &many[i]}}, .next = links};
    links = &many[i];
  }
  size_t whole = ask_for(put);
  CHECK(whole > 100000 && puts_done == 1);
  CHECK(ask_for("list\n") > 1000);

  /* No part of the answer. */
  max_memory = whole / 2;
  CHECK(ask_for(put) == 0);
  CHECK(puts_done == 2);

  /* No line of an incomplete request is carried out. */
  max_memory = 16;
  CHECK(ask_for(put) == 0);
  CHECK(puts_done == 2);
  free(many);
  return 0;
}
