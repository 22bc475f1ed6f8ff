/*
 * labwright-decoder: runs sharkd, which decodes untrusted packets, in a confined process. See README.md.
 *
 *   labwright-decoder <directory> <id>
 */
#include "decoder.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static const char *const places[] = {"/usr/bin/sharkd", "/usr/sbin/sharkd", "/usr/local/bin/sharkd"};

_Noreturn void fail(const char *what) {
  fprintf(stderr, "labwright-decoder: %s: %s\n", what, strerror(errno));
  _exit(1);
}

static const char *sharkd(void) {
  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    if (access(places[i], X_OK) == 0) return places[i];
  fail("sharkd is not installed (Debian: apt-get install wireshark-common)");
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: labwright-decoder <directory> <id>\n");
    return 2;
  }
  const char *program = sharkd();
  make_root(program, argv[1]);
  confine(atol(argv[2]));
  char *const args[] = {(char *)"sharkd", (char *)"-", NULL};
  char *const env[] = {(char *)"PATH=/usr/bin", (char *)"HOME=/view", (char *)"WIRESHARK_CONFIG_DIR=/view", (char *)"LC_ALL=C.UTF-8", NULL};
  execve(program, args, env);
  fail(program);
}
