/* A node's init. */
#include "boot.h"
#include "node.h"
#include "rings.h"
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <grp.h>

enum { RESPAWN_MS = 1000 /* a console program starts at most this often */ };

void report(int fd, int kind, int value, const char *step) {
  struct report r = {.kind = kind, .value = value};
  snprintf(r.step, sizeof r.step, "%s", step);
  if (write(fd, &r, sizeof r) < 0) _exit(71);
}

void setup_failed(const char *step, const char *detail) {
  int problem = errno;
  char text[112];
  snprintf(text, sizeof text, *detail ? "%s %s" : "%s", step, detail);
  report(CONTROL_FD, SETUP_FAILED, problem, text);
  _exit(71);
}

void require(int rc, const char *step, const char *detail) {
  if (rc < 0) setup_failed(step, detail);
}

/* Executes the program, in a node or in the fabric. */
_Noreturn void become(char **argv, char **env) {
  static char *defaults[] = {DEFAULT_PATH, "HOME=/root", "TERM=xterm", "LANG=C.UTF-8"};
  size_t count = 0, given = 0;
  while (env && env[given]) given++;
  char **all = need(calloc(given + ARRAY(defaults) + 1, sizeof *all));
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

void become_user(char **main, int terminal) {
  char path[4096];
  gid_t groups[MAX_GROUPS];
  size_t count = 0;
  uid_t uid = (uid_t)strtoul(main[1], NULL, 10);
  for (char **g = main + 2; *g && count < MAX_GROUPS; g++) groups[count++] = (gid_t)strtoul(*g, NULL, 10);
  snprintf(path, sizeof path, "%s", main[0]);
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    mkdir(path, 0755); /* chdir reports a failure */
    *slash = '/';
  }
  mkdir(path, 0755);
  const char *step = chdir(path) < 0 ? path : NULL;
  /* Programs open /dev/stdout, which leads to this terminal. */
  if (!step && uid != 0 && fchown(terminal, uid, (gid_t)-1) < 0) step = "terminal";
  /* If only one id is mapped, the kernel allows no supplementary groups, and root is the only user. */
  if (!step && (uid != 0 || groups[0] != 0 || count > 1) &&
      (setgroups(count, groups) < 0 || setresgid(groups[0], groups[0], groups[0]) < 0 || setresuid(uid, uid, uid) < 0))
    step = "user";
  if (!step) return;
  dprintf(2, "labwright: %s: %s\n", step, strerror(errno));
  _exit(126);
}

/* A program of the node: the boot program and a main program beside a console are not on the terminal; only a main program has a user. */
struct own_program { char **argv, **user; bool on_terminal; unsigned long namespaces; };

static pid_t start_program(struct node *n, const struct own_program *p, int slave) {
  pid_t pid = clone_process(p->namespaces);
  if (pid != 0) return pid;
  const bool on_terminal = p->on_terminal;
  /* The boot program is not a session leader, so that it does not take over the console's terminal when it opens it. */
  if (on_terminal) setsid();
  else setpgid(0, 0);
  int null = on_terminal ? slave : open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(null, 0);
  dup2(slave, 1);
  dup2(slave, 2);
  close_range(3, ~0u, 0);
  if (on_terminal && ioctl(0, TIOCSCTTY, 1) < 0) dprintf(2, "labwright: no controlling terminal: %s\n", strerror(errno));
  if (p->user) become_user(p->user, 1);
  become(p->argv, n->env);
}

int exit_code(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

/* The signals that a node's init waits for: TERM, those of halt and poweroff in the node, and SIG_CONSOLE_OPENED. They are blocked from the clone on, or an
 * early one would be lost. */
static sigset_t wanted_signals(void) {
  sigset_t set;
  sigemptyset(&set);
  const int all[] = {SIGCHLD, SIGTERM, SIGUSR1, SIGUSR2, SIG_CONSOLE_OPENED};
  for (size_t i = 0; i < ARRAY(all); i++) sigaddset(&set, all[i]);
  return set;
}

/* Returns the value of a setting of the main program, NULL if it has none. `name` ends with =. */
static const char *main_setting(const struct node *n, const char *name) {
  for (char **e = n->env; *n->main && e && *e; e++)
    if (!strncmp(*e, name, strlen(name))) return *e + strlen(name);
  return NULL;
}

/* Returns the stop signal of the main program's image, 0 if there is none. As in a container, only the main program gets the signal. */
static int own_stop_signal(const struct node *n) {
  const char *number = main_setting(n, "LABWRIGHT_STOP_SIGNAL=");
  return number ? (int)strtol(number, NULL, 10) : 0;
}

/* Returns the console program of a node whose main program is not on the terminal: its words, each of which ends with a unit separator. NULL if there is none. */
static char **own_console(const struct node *n) {
  const char *given = main_setting(n, "LABWRIGHT_CONSOLE=");
  if (!given) return NULL;
  char *text = need(strdup(given));
  size_t count = 0;
  for (const char *c = text; *c; c++) count += *c == '\x1f';
  if (count == 0) return NULL;
  char **words = need(calloc(count + 1, sizeof *words));
  for (size_t i = 0; i < count; i++) words[i] = strsep(&text, "\x1f");
  return words;
}

/* The node's pid 1 from release to its end. Leaving this function by _exit ends the node: the kernel kills its pid namespace. */
static _Noreturn void node_init(struct node *n, int slave, const struct termios *fresh) {
  sigset_t wanted = wanted_signals();
  char released;
  while (read(CONTROL_FD, &released, 1) != 1)
    if (errno != EINTR) _exit(0);
  char **rest = *n->boot ? boot_here(n->boot, n->env) : NULL;
  const bool still = !rest && !plain_line_set_link;
  if (rest) sync_carriers(); /* a boot without a program does this at its end */
  char **words = own_console(n);
  const bool has_main = *n->main != NULL;
  /* A program that expects to be the first one is it in a namespace of its own: /proc has the numbers of the node. */
  const struct own_program at_boot = {.argv = rest};
  const struct own_program chief = {
    .argv = n->console, .user = n->main, .on_terminal = !words, .namespaces = main_setting(n, "LABWRIGHT_FIRST_PROCESS=") ? CLONE_NEWPID : 0};
  const struct own_program shell = {.argv = words ? words : n->console, .on_terminal = true};
  pid_t boot = rest ? start_program(n, &at_boot, slave) : 0, console = 0, principal = 0;
  /* The node's main program starts at once. A shell starts when somebody opens the console. */
  bool booted = false, ending = false, console_opened = false;
  int64_t not_before = 0;
  const int stop_signal = own_stop_signal(n);
  if (boot < 0) _exit(126);
  for (;;) {
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
      if (pid == principal) {
        if (!ending || stop_signal > 0) _exit(exit_code(status));
        principal = 0;
      }
      if (pid == console) console = 0;
      if (pid != boot) continue;
      boot = 0;
      if (ending || exit_code(status) == 0) continue;
      report(CONTROL_FD, BOOTED, exit_code(status), "boot");
      _exit(exit_code(status));
    }
    if (ending && pid < 0 && errno == ECHILD) _exit(0);
    if (!boot && !booted && !ending) {
      booted = true;
      sync_carriers(); /* the carriers of the links that boot brought up */
      report(CONTROL_FD, still ? BOOTED_WITHOUT_LINKS : BOOTED, 0, "boot");
    }
    int64_t now = clock_ms(CLOCK_MONOTONIC);
    const bool runs = booted && !ending;
    bool want_main = runs && has_main && !principal;
    bool want_console = runs && console_opened && !console && *shell.argv && (words || !has_main);
    if (want_main && now >= not_before) {
      tcsetattr(slave, TCSANOW, fresh);
      principal = start_program(n, &chief, slave);
      if (principal < 0) principal = 0; /* no memory or no pids left: try again a little later */
      want_main = !principal;
      if (want_main) not_before = now + RESPAWN_MS;
    }
    if (want_console && now >= not_before) {
      tcsetattr(slave, TCSANOW, fresh);
      console = start_program(n, &shell, slave);
      if (console < 0) console = 0;
      want_console = !console;
      not_before = now + RESPAWN_MS;
    }
    want_console = want_console || want_main;
    struct timespec pause = {.tv_sec = (not_before - now) / 1000, .tv_nsec = (not_before - now) % 1000 * 1000000};
    int signal = want_console ? sigtimedwait(&wanted, NULL, &pause) : sigwaitinfo(&wanted, NULL);
    if (signal == SIG_CONSOLE_OPENED) console_opened = true;
    if (signal == SIGCHLD || signal == SIG_CONSOLE_OPENED || signal < 0 || ending) continue;
    ending = true;
    if (principal && stop_signal > 0) {
      kill(principal, stop_signal);
      kill(principal, SIGCONT);
      continue;
    }
    kill(-1, SIGTERM);
    kill(-1, SIGCONT);
    if (console) kill(-console, SIGHUP); /* interactive shells ignore TERM */
    if (principal && chief.on_terminal) kill(-principal, SIGHUP);
  }
}

_Noreturn void node_main(struct node *n, struct spawn *s, bool shares, struct buffer *request) {
  char text[32];
  sigset_t wanted = wanted_signals();
  sigprocmask(SIG_SETMASK, &wanted, NULL);
  int entered = groups_enter(&n->setup.groups), problem = errno;
  /* Copies the few descriptors below KEPT_FD. A copy of all, of which each is closed then, takes a tenth of the time of making one of many nodes. */
  if (shares && close_range(KEPT_FD, ~0u, CLOSE_RANGE_UNSHARE) < 0) _exit(71);
  if (dup3(n->setup.control, CONTROL_FD, O_CLOEXEC) < 0) _exit(71);
  close_range(CONTROL_FD + 1, RINGS_FD - 1, 0);
  close_range(RINGS_FD + 1, ~0u, 0);
  fcntl(CONTROL_FD, F_SETFL, 0);
  char mapped;
  if (read(CONTROL_FD, &mapped, 1) != 1) _exit(71); /* the holder maps the ids of the node's user namespace first */
  snprintf(text, sizeof text, "node=%ld", n->id);
  mark_process(text);
  prctl(PR_SET_NAME, "labwright-node", 0, 0, 0);
  umask(022);
  int master = -1;
  errno = problem;
  require(entered, "enter", "the node's control groups");
  require(unshare(CLONE_NEWCGROUP), "new", "cgroup namespace"); /* rooted at the groups just entered, so that the node does not see others */
  require(sethostname(s->hostname, strlen(s->hostname)), "hostname", s->hostname);
  require(loopback_up(), "interface", "lo");
  umask(0);
  int slave = make_root(s, is_wide(n), &master);
  umask(022);
  for (uint32_t i = 0; i < s->files.count; i++) {
    const char *path = reader_text(&s->files.items);
    mode_t mode = (mode_t)reader_number(&s->files.items, 07777);
    size_t length;
    const char *data = reader_bytes(&s->files.items, &length);
    write_file(path, mode, data, length);
  }
  struct termios fresh;
  require(tcgetattr(slave, &fresh), "attributes of", "/dev/pts/0");
  for (int fd = 0; fd < 3; fd++) require(dup2(slave, fd), "terminal", "");
  require(confine(n), "confine", "");
  struct report ready = {.kind = READY};
  struct iovec body = {&ready, sizeof ready};
  union { struct cmsghdr header; char room[CMSG_SPACE(sizeof master)]; } extra = {
    .header = {.cmsg_len = CMSG_LEN(sizeof master), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS},
  };
  memcpy(CMSG_DATA(&extra.header), &master, sizeof master);
  struct msghdr message = {.msg_iov = &body, .msg_iovlen = 1, .msg_control = &extra, .msg_controllen = sizeof extra.room};
  require(sendmsg(CONTROL_FD, &message, 0) < 0 ? -1 : 0, "send", "the terminal");
  require(limit_descriptors(), "limit", "descriptors");
  close(master);
  buffer_free(request); /* it also contains other nodes' files */
  node_init(n, slave, &fresh);
}
