/* One program of an exec client: its streams, its terminal, its signals and its end. */
#include "guest.h"
#include "../common/io.h"
#include "../common/process-tree.h"
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>

enum { HANG_UP_MS = 1000, FORGOTTEN_MS = 600000 };

static int client;
static pid_t program;
static bool terminal;
static int in = -1, out = -1, err = -1; /* this side of the program's streams; with a terminal `in` and `out` are the same */
static char queue[GUEST_WINDOW]; /* input that the program has not taken yet */
static size_t queued, queue_start;
static bool input_ended;

static _Noreturn void refuse(const char *what) {
  char words[256];
  snprintf(words, sizeof words, "labwright: %s: %s\n", what, strerror(errno));
  guest_send(client, 'E', words, strlen(words));
  guest_send(client, 'X', "126 0", 5);
  _exit(0);
}

static int open_terminal(int *master, const struct winsize *size) {
  int unlock = 0;
  *master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (*master < 0 || ioctl(*master, TIOCSPTLCK, &unlock) < 0) return -1;
  ioctl(*master, TIOCSWINSZ, size);
  return ioctl(*master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

static _Noreturn void run(const int fds[3], const char *directory, char **argv, char **env) {
  setsid();
  for (int i = 0; i < 3; i++) dup2(fds[i], i);
  if (terminal) ioctl(0, TIOCSCTTY, 0);
  close_range(3, ~0u, 0);
  if (*directory && chdir(directory) < 0) {
    dprintf(2, "labwright: %s: %s\n", directory, strerror(errno));
    _exit(126);
  }
  if (!terminal) adopt_orphans();
  become(argv, env);
}

/* The request: "t <columns> <rows>" or "p", the directory, the count of arguments, the arguments, the environment. */
static void start(const struct guest_message *m) {
  struct winsize size = {.ws_col = 80, .ws_row = 24};
  char **texts = texts_of(m->data, m->length);
  size_t count = 0;
  while (texts && texts[count]) count++;
  long words = count > 3 ? strtol(texts[2], NULL, 10) : 0;
  if (words < 1 || (size_t)words > count - 3) _exit(1);
  terminal = sscanf(texts[0], "t %hu %hu", &size.ws_col, &size.ws_row) == 2;
  char **argv = calloc((size_t)words + 1, sizeof *argv);
  if (!argv) refuse("starting the program");
  memcpy(argv, texts + 3, (size_t)words * sizeof *argv);
  int theirs[3], pipes[3][2];
  if (terminal) {
    theirs[0] = theirs[1] = theirs[2] = open_terminal(&in, &size);
    if (theirs[0] < 0) refuse("opening a terminal");
    out = in;
  } else {
    for (int i = 0; i < 3; i++)
      if (pipe2(pipes[i], O_CLOEXEC) < 0) refuse("opening a pipe");
    theirs[0] = pipes[0][0], theirs[1] = pipes[1][1], theirs[2] = pipes[2][1];
    in = pipes[0][1], out = pipes[1][0], err = pipes[2][0];
  }
  program = fork();
  if (program < 0) refuse("starting the program");
  if (program == 0) run(theirs, texts[1], argv, texts + 3 + words);
  for (int i = 0; i < 3; i++)
    if (!terminal || i == 0) close(theirs[i]);
  const int ours[] = {in, out, err};
  for (int i = 0; i < 3; i++)
    if (ours[i] >= 0) fcntl(ours[i], F_SETFL, O_NONBLOCK);
}

/* Ends the program, because its client has left: a terminal hangs up first. */
static _Noreturn void abandon(void) {
  if (program && terminal) {
    close(in); /* the hang-up */
    kill(-program, SIGHUP);
    kill(-program, SIGCONT);
    usleep(HANG_UP_MS * 1000);
  }
  if (program) kill_trees(&program, 1);
  _exit(0);
}

/* Sends what the stream has now. Returns false if it has nothing, or is at its end. */
static bool pass(int *from, char type) {
  static char bytes[GUEST_PIECE];
  if (*from < 0) return false;
  ssize_t got = read(*from, bytes, sizeof bytes);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  /* A terminal that no process has open any more fails with EIO. */
  if (got <= 0) {
    if (!terminal) close(*from);
    *from = -1;
    return false;
  }
  if (!guest_send(client, type, bytes, (size_t)got)) abandon();
  return true;
}

static void feed(void) {
  char text[24];
  ssize_t sent = in < 0 ? (ssize_t)queued : write(in, queue + queue_start, queued);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (sent < 0) { /* the program does not read the rest; its exit code shows whether that is an error */
    if (!terminal) close(in);
    in = -1;
    sent = (ssize_t)queued;
  }
  queue_start += (size_t)sent;
  queued -= (size_t)sent;
  snprintf(text, sizeof text, "%zd", sent);
  if (sent > 0 && !guest_send(client, 'A', text, strlen(text))) abandon();
}

static void take_input(const struct guest_message *m) {
  if (m->length > sizeof queue - queued) abandon(); /* more than the window: no client of ours */
  memmove(queue, queue + queue_start, queued);
  queue_start = 0;
  memcpy(queue + queued, m->data, m->length);
  queued += m->length;
  if (m->length == 0) input_ended = true;
}

static void handle(const struct guest_message *m) {
  struct winsize size = {0};
  if (m->type == 'I') take_input(m);
  if (m->type == 'W' && terminal && in >= 0 && sscanf(m->data, "%hu %hu", &size.ws_col, &size.ws_row) == 2) ioctl(in, TIOCSWINSZ, &size);
  long signal = m->type == 'S' ? strtol(m->data, NULL, 10) : 0;
  if (signal > 0 && signal <= SIGRTMAX && program && kill(-program, (int)signal) < 0) kill(program, (int)signal); /* it may not have made its group yet */
}

/* The rest of its output is in the pipes. They are not read to their end, because a background process may keep them open forever. */
static _Noreturn void finish(int status) {
  char text[32];
  for (int i = 0; i < 64 && pass(&out, 'O'); i++) {}
  for (int i = 0; i < 64 && pass(&err, 'E'); i++) {}
  snprintf(text, sizeof text, "%d %d", WIFSIGNALED(status) ? -1 : WEXITSTATUS(status), WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  guest_send(client, 'X', text, strlen(text));
  shutdown(client, SHUT_WR);
  char rest[256];
  while (recv(client, rest, sizeof rest, 0) > 0) {} /* unread input would turn the end of the connection into an error */
  _exit(0);
}

static _Noreturn void relay(int signals) {
  struct guest_message message = {.most = GUEST_PIECE};
  for (;;) {
    struct pollfd p[] = {
      {.fd = client, .events = POLLIN | POLLRDHUP},
      {.fd = signals, .events = POLLIN},
      {.fd = out, .events = POLLIN},
      {.fd = err, .events = POLLIN},
      {.fd = queued ? in : -1, .events = POLLOUT},
    };
    if (queued == 0 && input_ended && in >= 0 && !terminal) close(in), in = -1;
    if (poll(p, ARRAY(p), FORGOTTEN_MS) < 0 && errno != EINTR) abandon();
    struct signalfd_siginfo info;
    int status;
    if (p[1].revents && read(signals, &info, sizeof info) > 0 && waitpid(program, &status, WNOHANG) == program) finish(status);
    if (p[0].revents) {
      int got = guest_receive(client, &message);
      if (got < 0) abandon();
      if (got > 0) handle(&message), guest_next(&message);
    }
    if (p[2].revents) pass(&out, 'O');
    if (p[3].revents) pass(&err, 'E');
    if (queued) feed();
  }
}

void serve_program(int fd) {
  struct guest_message request = {.most = GUEST_REQUEST};
  sigset_t set;
  int got;
  client = fd;
  guest_at_once(fd);
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigprocmask(SIG_SETMASK, &set, NULL);
  while ((got = guest_receive(fd, &request)) == 0) {}
  if (got < 0 || request.type != 'P') _exit(1);
  int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  start(&request);
  if (!guest_send(client, 'R', "", 0)) abandon();
  relay(signals);
}
