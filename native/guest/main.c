/* Start, loop and end of the guest. */
#include "guest.h"
#include <poll.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>

enum { RESPAWN_MS = 1000, ENDING_STEP_MS = 200 };

static int control, listener;
static pid_t boot, console;
static bool started, booted, ending;
static int64_t not_before;
static struct termios fresh;

void fail(const char *format, ...) {
  va_list args;
  va_start(args, format);
  dprintf(2, "labwright: ");
  vdprintf(2, format, args);
  dprintf(2, "\n");
  sync();
  reboot(RB_AUTOBOOT);
  _exit(1);
}

int exit_code(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

static int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void become(char **argv, char **env) {
  static char *defaults[] = {DEFAULT_PATH, "HOME=/root", "TERM=xterm", "LANG=C.UTF-8"};
  size_t count = 0, given = 0;
  while (env && env[given]) given++;
  char **all = calloc(given + ARRAY(defaults) + 1, sizeof *all);
  if (!all) _exit(126);
  for (; count < given; count++) all[count] = env[count];
  for (size_t i = 0; i < ARRAY(defaults); i++) {
    size_t name = strcspn(defaults[i], "=") + 1;
    bool there = false;
    for (size_t k = 0; k < given; k++) there = there || strncmp(env[k], defaults[i], name) == 0;
    if (!there) all[count++] = defaults[i];
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  signal(SIGPIPE, SIG_DFL);
  umask(022);
  environ = all;
  execvp(argv[0], argv);
  dprintf(2, "labwright: %s: %s\n", argv[0], strerror(errno));
  _exit(errno == ENOENT ? 127 : 126);
}

/* Starts the boot program, or the console program in a session of its own. Returns its pid, 0 if there is no program or no memory. */
static pid_t start(char **argv, bool on_terminal) {
  if (!argv || !*argv) return 0;
  pid_t pid = fork();
  if (pid != 0) return pid > 0 ? pid : 0;
  if (on_terminal) setsid();
  else setpgid(0, 0);
  int terminal = open(CONSOLE, O_RDWR | O_NOCTTY), in = on_terminal ? terminal : open("/dev/null", O_RDONLY);
  dup2(in, 0), dup2(terminal, 1), dup2(terminal, 2);
  close_range(3, ~0u, 0);
  if (on_terminal) ioctl(0, TIOCSCTTY, 1);
  become(argv, settings.env);
}

static void boot_ended(int code) {
  char text[8];
  snprintf(text, sizeof text, "%d", code);
  booted = true;
  if (code != 0) sync();
  guest_send(control, 'B', text, strlen(text));
}

static void begin_end(void) {
  if (ending) return;
  ending = true;
  kill(-1, SIGTERM);
  kill(-1, SIGCONT);
  if (console) kill(-console, SIGHUP); /* interactive shells ignore TERM */
}

static _Noreturn void end(void) {
  sync();
  reboot(RB_AUTOBOOT); /* QEMU ends instead */
  _exit(0);
}

static void reap(void) {
  int status;
  pid_t pid;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    if (pid == console) console = 0;
    if (pid != boot) continue;
    boot = 0;
    if (!ending) boot_ended(exit_code(status));
  }
  if (ending && pid < 0 && errno == ECHILD) end();
}

static void window_size(const char *text) {
  struct winsize size = {0};
  int fd = open(CONSOLE, O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return;
  if (sscanf(text, "%hu %hu", &size.ws_col, &size.ws_row) == 2) ioctl(fd, TIOCSWINSZ, &size);
  close(fd);
}

/* Handles a message of the supervisor. */
static void command(const struct guest_message *m) {
  if (setting(m)) return;
  if (m->type == 'Z') window_size(m->data);
  if (m->type == 'T') begin_end();
  if (m->type != 'G' || started) return;
  started = true;
  boot = start(settings.boot, false);
  if (!boot) boot_ended(settings.boot && *settings.boot ? 126 : 0);
}

static void accept_program(void) {
  int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  if (fd < 0) return;
  pid_t pid = fork();
  if (pid == 0) serve_program(fd);
  close(fd);
}

static void start_console(void) {
  if (!booted || ending || console || now_ms() < not_before) return;
  tcsetattr(2, TCSANOW, &fresh);
  console = start(settings.console, true);
  not_before = now_ms() + RESPAWN_MS;
}

static _Noreturn void loop(int signals) {
  struct guest_message message = {.most = GUEST_FILES};
  for (;;) {
    struct pollfd p[] = {{.fd = signals, .events = POLLIN}, {.fd = listener, .events = POLLIN}, {.fd = control, .events = POLLIN}};
    start_console();
    bool waiting = booted && !console && settings.console && *settings.console;
    if (poll(p, ARRAY(p), ending ? ENDING_STEP_MS : waiting ? RESPAWN_MS : -1) < 0 && errno != EINTR) fail("poll: %s", strerror(errno));
    struct signalfd_siginfo info;
    while (p[0].revents && read(signals, &info, sizeof info) == sizeof info)
      if (info.ssi_signo != SIGCHLD) begin_end();
    reap();
    if (ending) sync();
    if (p[1].revents && !ending) accept_program();
    if (!p[2].revents) continue;
    int got = guest_receive(control, &message);
    if (got < 0) end(); /* the supervisor has ended */
    if (got == 0) continue;
    command(&message);
    guest_next(&message);
  }
}

/* A node that is switched off loses at most about a second of what it wrote, also of what the kernel would write later. */
static void write_soon(void) {
  static const char *const times[] = {"/proc/sys/vm/dirty_writeback_centisecs", "/proc/sys/vm/dirty_expire_centisecs"};
  for (size_t i = 0; i < ARRAY(times); i++) {
    int fd = open(times[i], O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "100", 3) != 3) fail("%s: %s", times[i], strerror(errno));
    close(fd);
  }
}

int main(void) {
  static const int wanted[] = {SIGCHLD, SIGTERM, SIGUSR1, SIGUSR2};
  sigset_t set;
  umask(0);
  mkdir("/proc", 0555), mkdir("/sys", 0555), mkdir("/dev", 0755);
  mount("proc", "/proc", "proc", 0, NULL);
  mount("sysfs", "/sys", "sysfs", 0, NULL);
  mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
  int terminal = open(CONSOLE, O_RDWR | O_NOCTTY);
  for (int i = 0; i < 3; i++) dup2(terminal, i);
  if (terminal > 2) close(terminal);
  tcgetattr(2, &fresh);
  reboot(RB_DISABLE_CAD);
  write_soon();
  load_modules();
  links_open();
  mount_images();
  listener = private_listen();
  control = begin_node();
  enter_root();
  sigemptyset(&set);
  for (size_t i = 0; i < ARRAY(wanted); i++) sigaddset(&set, wanted[i]);
  sigprocmask(SIG_BLOCK, &set, NULL);
  signal(SIGPIPE, SIG_IGN);
  int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  loop(signals);
}
