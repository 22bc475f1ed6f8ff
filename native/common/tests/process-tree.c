#include "../../fuzz/check.h"
#include "../process-tree.h"
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

/* Each process of the tree has the writing end of a pipe: its end is seen when all of them have ended. */
static int alive[2];

/* A process that the test fails to end does so by itself. */
static _Noreturn void stay(void) {
  alarm(60);
  for (;;) pause();
}

/* A process that leaves its session and its parent, with a child that does the same. */
static void escape(int generations) {
  if (fork() != 0) return;
  setsid();
  if (fork() != 0) _exit(0);
  setsid();
  if (generations > 0) escape(generations - 1);
  stay();
}

static pid_t start(bool adopts) {
  int ready[2];
  CHECK(pipe(ready) == 0);
  pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    setsid();
    if (adopts) adopt_orphans();
    for (int i = 0; i < 3; i++)
      if (fork() == 0) stay();
    for (int i = 0; i < 3; i++) escape(3);
    if (write(ready[1], "", 1) != 1) _exit(1);
    stay();
  }
  char byte;
  CHECK(read(ready[0], &byte, 1) == 1);
  close(ready[0]), close(ready[1]);
  return pid;
}

static bool all_ended(void) {
  struct pollfd p = {.fd = alive[0], .events = POLLIN};
  return poll(&p, 1, 30000) == 1 && p.revents & POLLHUP;
}

int main(void) {
  CHECK(pipe(alive) == 0);
  pid_t beside = fork();
  if (beside == 0) {
    close(alive[0]), close(alive[1]);
    setsid();
    stay();
  }
  const pid_t roots[] = {start(true), start(true)};
  close(alive[1]);
  kill_trees(roots, 2);
  CHECK(all_ended());
  for (int i = 0; i < 2; i++) {
    int status;
    CHECK(waitpid(roots[i], &status, 0) == roots[i]);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  }
  /* Other processes go on. */
  CHECK(waitpid(beside, NULL, WNOHANG) == 0);
  kill(beside, SIGKILL);
  /* Without the adoption, the session of a program still ends with it. */
  CHECK(pipe(alive) == 0);
  const pid_t alone = fork();
  if (alone == 0) {
    setsid();
    if (fork() == 0) stay();
    stay();
  }
  close(alive[1]);
  kill_trees(&alone, 1);
  CHECK(all_ended());
  return 0;
}
