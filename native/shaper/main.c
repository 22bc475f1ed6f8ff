/*
 * labwright-shaper: delay, jitter, loss and bandwidth for the links of one lab. See README.md.
 *
 *   labwright-shaper lab=<id> [seed=<number>] ask    requests from standard input; starts the lab's shaper if none runs
 *   labwright-shaper lab=<id> show                   the links, or exit code 3 if none runs
 *   labwright-shaper lab=<id> watch                  ends, with code 3, when the lab's shaper does
 *   labwright-shaper redirect                        redirects ports as lines of standard input ask for
 *   labwright-shaper frames                          makes frames that leave at ports, named on standard input, complete
 *   labwright-shaper probe                           whether this kernel lets it work
 */
#include "shaper.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

int epoll_fd;
uint64_t seed = 4; /* an arbitrary number, the same in every run */

int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Makes the process wake up in time: no timer slack, and a short scheduler slice, because the scheduler prefers waking processes with a short slice. */
static void lower_wakeup_latency(void) {
  struct { uint32_t size, policy; uint64_t flags; int32_t nice; uint32_t priority; uint64_t runtime, deadline, period; } slice = {
    .size = 48, .runtime = 200000,
  };
  prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  /* If the kernel is older or does not allow it, the process has only no short slice. */
  syscall(SYS_sched_setattr, 0, &slice, 0);
}

int become_daemon(int listener) {
  setsid();
  signal(SIGCHLD, SIG_IGN);
  int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int i = 0; i < 3 && nowhere >= 0; i++) dup2(nowhere, i);
  if (chdir("/") < 0) return 1;
  struct rlimit files; /* two sockets a link */
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) files.rlim_cur = files.rlim_max, setrlimit(RLIMIT_NOFILE, &files);
  prctl(PR_SET_NAME, "labwright-shape", 0, 0, 0);
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_fd < 0) return 1;
  lower_wakeup_latency();
  return serve(listener);
}

static char *standard_input(void) {
  size_t length = 0, room = 65536;
  char *text = malloc(room);
  for (ssize_t got; text && (got = read(0, text + length, room - length - 1)) != 0;) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return NULL;
    length += (size_t)got;
    if (length + 1 == room) text = realloc(text, room *= 2);
  }
  if (text) text[length] = 0;
  return text;
}

/* Uses the pair p0a, q0a in this net namespace. The caller has made it for this probe. */
static int probe(void) {
  struct end e;
  struct timespec none = {0};
  struct epoll_event event;
  const char *problem = end_open(&e, "p0a", 1500, true);
  if (!problem) problem = end_map(&e);
  epoll_fd = epoll_create1(0);
  if (!problem && epoll_pwait2(epoll_fd, &event, 1, &none, NULL) < 0) problem = "epoll_pwait2";
  if (!problem) return 0;
  dprintf(2, "labwright-shaper: %s: %s\n", problem, strerror(errno));
  return 1;
}

int main(int argc, char **argv) {
  const char *lab = NULL, *what = "";
  for (int i = 1; i < argc; i++) {
    if (!strncmp(argv[i], "lab=", 4)) lab = argv[i] + 4;
    else if (!strncmp(argv[i], "seed=", 5)) seed = strtoull(argv[i] + 5, NULL, 10);
    else what = argv[i];
  }
  if (argc == 2 && !strcmp(what, "probe")) return probe();
  if (argc == 2 && !strcmp(what, "redirect")) {
    char *lines = standard_input();
    return lines ? redirects(lines) : 1;
  }
  if (argc == 2 && !strcmp(what, "frames")) {
    char *names = standard_input();
    return names ? plain_frames(names) : 1;
  }
  if (lab && *lab && strlen(lab) < 80) {
    if (!strcmp(what, "watch")) return watch(lab);
    if (!strcmp(what, "show")) return ask(lab, "show\n", false);
    char *request = strcmp(what, "ask") ? NULL : standard_input();
    if (request) return ask(lab, request, true);
  }
  dprintf(2, "usage: labwright-shaper lab=<id> [seed=<number>] ask|show|watch, labwright-shaper redirect|frames|probe\n");
  return 2;
}
