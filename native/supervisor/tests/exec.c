/* The client of a program in a guest ends by itself, for any answer of the guest. */
#include "../exec.c"
#include "../../fuzz/check.h"
#include <sys/wait.h>

/* Returns how the client ends if the guest sends these bytes, and closes the connection. */
static int status_after(const void *bytes, size_t length) {
  int pair[2], status;
  CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
  pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i < 3; i++) dup2(null, i);
    close(pair[1]);
    guest = pair[0];
    relay();
  }
  close(pair[0]);
  (void)!send(pair[1], bytes, length, MSG_NOSIGNAL);
  shutdown(pair[1], SHUT_WR);
  CHECK(waitpid(pid, &status, 0) == pid);
  close(pair[1]);
  return status;
}

static int code_after(char type, const char *text) {
  char bytes[256];
  guest_head(bytes, type, strlen(text));
  memcpy(bytes + GUEST_HEAD, text, strlen(text));
  int status = status_after(bytes, GUEST_HEAD + strlen(text));
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Returns the exit code of a client whose guest takes its request, or does not. */
static int code_of_request(bool taken) {
  int pair[2], status;
  char bytes[4096];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
  pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    dup2(open("/dev/null", O_RDWR | O_CLOEXEC), 2);
    close(pair[1]);
    guest = pair[0];
    if (!taken) answer_ms = 200;
    send_request((char *[]){"true", NULL});
    _exit(0);
  }
  close(pair[0]);
  while (taken && recv(pair[1], bytes, sizeof bytes, 0) > 0) {}
  CHECK(waitpid(pid, &status, 0) == pid);
  close(pair[1]);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Returns the exit code of a client whose guest has started the program, or not, and then sends nothing until a moment later the exit code 5. */
static int code_of_silence(bool starts) {
  int pair[2], status;
  char head[GUEST_HEAD];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
  guest_head(head, 'R', 0);
  CHECK(send(pair[1], head, starts ? sizeof head : 0, MSG_NOSIGNAL) >= 0);
  pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i < 3; i++) dup2(null, i);
    close(pair[1]);
    guest = pair[0];
    start_ms = 100;
    relay();
  }
  close(pair[0]);
  if (starts) {
    usleep(300000); /* longer than the limit */
    CHECK(waitpid(pid, &status, WNOHANG) == 0);
    guest_head(head, 'X', 3);
    CHECK(send(pair[1], head, sizeof head, MSG_NOSIGNAL) == sizeof head && send(pair[1], "5 0", 3, MSG_NOSIGNAL) == 3);
  }
  CHECK(waitpid(pid, &status, 0) == pid);
  close(pair[1]);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int main(void) {
  CHECK(code_after('X', "7 0") == 7);
  CHECK(code_after('X', "-1 9") == -9);
  CHECK(code_after('X', "-1 15") == -15);
  static const char *const wrong[] = {"", "x", "7", "256 0", "-2 0", "0 -1", "0 1000", "99999999999999999999 0"};
  for (size_t i = 0; i < ARRAY(wrong); i++) CHECK(code_after('X', wrong[i]) == 126);
  CHECK(code_after('A', "1") == 126); /* more than was sent */
  CHECK(code_after('A', "-1") == 126);
  CHECK(code_after('A', "x") == 126);
  CHECK(code_after('?', "") == 126);
  CHECK(code_after('O', "output and then nothing") == 126);
  static const char long_message[] = {'O', 127, 127, 127, 127, 127}, no_head[] = {'O', -1, 0, 0, 0, 0}, half[] = {'O', 5};
  CHECK(WEXITSTATUS(status_after(long_message, sizeof long_message)) == 126);
  CHECK(WEXITSTATUS(status_after(no_head, sizeof no_head)) == 126);
  CHECK(WEXITSTATUS(status_after(half, sizeof half)) == 126);
  CHECK(WEXITSTATUS(status_after("", 0)) == 126);
  CHECK(code_of_request(true) == 0);
  CHECK(code_of_request(false) == 126);
  CHECK(code_of_silence(true) == 5);
  CHECK(code_of_silence(false) == 126);
  return 0;
}
