/*
 * labwright-holder: the one process that a lab hangs below.
 *
 *   labwright-holder lab=<id> dir=<runtime directory> [uid-base=N uid-count=N [ranges=<directory> files=<directory>… bind=<path>…]] [processes=N] [cgroup=<directory>]…
 *
 * The launcher makes the lab's init in its own user, mount, pid, net, ipc and uts namespace, prints {"pid":…,"start":…} when its
 * socket listens, and exits. The init's net namespace is the lab's fabric; every node is a child of it in namespaces of its own.
 * When the init dies the kernel ends all of it, which is why teardown cannot leak.
 *
 * Single-threaded, one epoll loop, no dependency. Needs Linux 5.12 (overlay in user namespaces, mount_setattr). README.md: the wire.
 */
#include "addresses.h"
#include "groups.h"
#include "id-range.h"
#include "init.h"
#include <grp.h>
#include <linux/sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <linux/securebits.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

enum {
  MAX_PROCESSES = 8 << 10, /* default for a lab; a small machine has 32768 pids */
  MAX_FILES = 8,           /* directories of files */
  MAX_BINDS = 64,          /* paths of the machine in which nodes write */
  PROGRAM_FD = 21,         /* descriptor of the program file in the lab's init, until exec */
};

static _Noreturn void fail(const char *what) {
  fprintf(stderr, "labwright-holder: %s: %s\n", what, strerror(errno));
  exit(1);
}

static void put(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, text, strlen(text)) < 0) fail(path);
  close(fd);
}

/* Returns the start time of the process, in clock ticks after boot. Together with the pid it identifies the process. */
static unsigned long long start_time(pid_t pid) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (n <= 0) fail(path);
  close(fd);
  text[n] = 0;
  char *at = strrchr(text, ')');
  for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
  return at ? strtoull(at, NULL, 10) : 0;
}

/* This program through a read-only mount, so that no node can ever write to the program file. */
static int read_only_program(void) {
  struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
  char program[4096];
  /* Opened by its path, because /proc/self/exe may be a file of another mount namespace. */
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  program[length < 0 ? 0 : length] = 0;
  int self = open_tree(AT_FDCWD, program, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
  if (self < 0 || mount_setattr(self, "", AT_EMPTY_PATH, &read_only, sizeof read_only) < 0) return -1;
  return self;
}

/* Returns whether AppArmor has loaded the nodes' profile. The launcher calls this, because a lab may not read it. */
static bool profile_loaded;

static bool has_profile(void) {
  static const char name[] = APPARMOR_PROFILE " ("; /* and its mode */
  char line[512];
  bool found = false;
  FILE *profiles = fopen("/sys/kernel/security/apparmor/profiles", "re");
  while (profiles && !found && fgets(line, sizeof line, profiles)) found = strncmp(line, name, sizeof name - 1) == 0;
  if (profiles) fclose(profiles);
  return found;
}

/* In the clone: becomes root of the new user namespace and executes this program again. Only after an exec do the kernel's rules on tracing use
 * the lab's user namespace. */
static _Noreturn void become_init(int go, const char *lab_arg, bool range, int groups) {
  char first;
  if (read(go, &first, 1) != 1) _exit(0); /* the launcher died */
  /* Opened before the ids change: the lab's root user may not be allowed to enter the program's directory. */
  int self = range ? PROGRAM_FD : read_only_program();
  if (self < 0) unready("read-only program");
  if (range && setgroups(0, NULL) < 0) unready("setgroups");
  if (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0) unready("become the lab's root");
  setsid();
  if (chdir("/") < 0) unready("enter /");
  char *argv[] = {"labwright-holder", (char *)(uintptr_t)lab_arg, range ? "init-range              " : "init-own                ", NULL};
  char *env[] = {DEFAULT_PATH, profile_loaded ? APPARMOR_MARK "=loaded" : NULL, NULL};
  close_range(READY_FD + 1, ~0u, CLOSE_RANGE_CLOEXEC);
  for (int i = 0; i < groups; i++) fcntl(GROUP_FD + i, F_SETFD, 0);
  fcntl(RANGE_FD, F_SETFD, 0); /* fails if there is no range */
  syscall(SYS_execveat, self, "", argv, env, AT_EMPTY_PATH);
  unready("run the holder");
}

/* clone_process with a user namespace that belongs to `owner`: the kernel counts its inotify instances and the like for that user. Files are still
 * opened with the launcher's rights. */
static pid_t clone_as(unsigned long owner, unsigned long flags) {
  if (owner) {
    prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0); /* for machines on which unprivileged users may not make user namespaces */
    if (seteuid((uid_t)owner) < 0) return -1;
    setfsuid(0);
  }
  pid_t pid = clone_process(flags);
  int problem = errno;
  if (owner && pid != 0 && seteuid(0) < 0) fail("return to root");
  errno = problem;
  return pid;
}

/* Gives the lab's control group to the lab's root user, who creates the groups of the nodes in it. */
static bool give_group(int group, unsigned long owner) {
  static const char *const files[] = {".", "cgroup.procs", "lab", "lab/cgroup.procs"};
  bool done = true;
  for (size_t i = 0; i < ARRAY(files); i++) done = done && fchownat(group, files[i], (uid_t)owner, (gid_t)owner, 0) == 0;
  return done;
}

static int launch(int argc, char **argv) {
  const char *lab_arg = NULL, *dir = NULL, *ranges = NULL, *shared = "";
  char *files[MAX_FILES + MAX_BINDS], *binds[MAX_BINDS];
  size_t file_count = 0, bind_count = 0;
  const char *group_paths[MAX_GROUPS_DIRS];
  unsigned long base = 0, count = 0, max_processes = MAX_PROCESSES;
  int groups = 0;
  for (int i = 1; i < argc; i++) {
    if (!strncmp(argv[i], "lab=", 4)) lab_arg = argv[i];
    else if (!strncmp(argv[i], "dir=", 4)) dir = argv[i] + 4;
    else if (!strncmp(argv[i], "uid-base=", 9)) base = strtoul(argv[i] + 9, NULL, 10);
    else if (!strncmp(argv[i], "uid-count=", 10)) count = strtoul(argv[i] + 10, NULL, 10);
    else if (!strncmp(argv[i], "processes=", 10)) max_processes = strtoul(argv[i] + 10, NULL, 10);
    else if (!strncmp(argv[i], "ranges=/", 8)) ranges = argv[i] + 7;
    else if (!strncmp(argv[i], "files=/", 7) && file_count < MAX_FILES) files[file_count++] = argv[i] + 6;
    else if (!strncmp(argv[i], "bind=/", 6) && bind_count < MAX_BINDS) binds[bind_count++] = argv[i] + 5;
    else if (!strncmp(argv[i], "cgroup=/", 8) && groups < MAX_GROUPS_DIRS) group_paths[groups++] = argv[i] + 7;
    else lab_arg = NULL, argc = 0;
  }
  bool named = lab_arg && lab_arg[4] && strlen(lab_arg) < 256;
  for (const char *p = lab_arg; named && *p; p++) named = (unsigned char)*p >= ' ' && !strchr("\"\\", *p);
  if (!named || !dir || !max_processes || (base > 0) != (count > 0) || (ranges && (count != RANGE_IDS || geteuid() != 0))) {
    fprintf(stderr, "usage: labwright-holder lab=<id> dir=<directory> [uid-base=N uid-count=N [ranges=<directory> files=<directory>... bind=<path>...]] [processes=N] [cgroup=<directory>]...\n");
    return 2;
  }
  /* Refuses a mapping to the machine's root: a node's root could then write the machine's kernel settings. */
  if (geteuid() == 0 && count == 0) {
    fprintf(stderr, "labwright-holder: as root a range of ids is needed (uid-base, uid-count)\n");
    return 2;
  }
  close_range(3, ~0u, 0);
  umask(077);
  if (chdir(dir) < 0) fail(dir);
  struct rlimit none = {0, 0}, descriptors = {1 << 20, 1 << 20}, processes = {max_processes, max_processes};
  setrlimit(RLIMIT_CORE, &none);
  setrlimit(RLIMIT_NPROC, &processes);
  setrlimit(RLIMIT_NOFILE, &descriptors); /* only root may raise it; others keep the present limit */
  int listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), null = open("/dev/null", O_RDWR);
  int log = open("holder.log", O_WRONLY | O_CREAT | O_APPEND, 0600), go[2], ready[2];
  if (listen_fd < 0 || null < 0 || log < 0 || pipe(go) < 0 || pipe(ready) < 0) fail(dir);
  /* Locked as long as the lab runs, because the log stays open as its standard error. */
  if (flock(log, LOCK_EX | LOCK_NB) < 0) {
    fprintf(stderr, "labwright-holder: a lab lives in %s already\n", dir);
    return 3;
  }
  struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "holder.sock"};
  unlink(address.sun_path);
  if (bind(listen_fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(listen_fd, 1024) < 0) fail("listen on holder.sock");

  profile_loaded = has_profile();
  int lock = -1, program = count > 0 ? read_only_program() : -1;
  unsigned long own_range = ranges ? range_lock(ranges, lab_arg + 4, &lock) : 0;
  if (count > 0 && program < 0) fail("read-only program");
  /* Files keep the ids that they have on disk, even if the lab has an id range. */
  if (ranges && !own_range) shared = "no range is free";
  memcpy(files + file_count, binds, bind_count * sizeof *binds);
  if (own_range && range_map_files(files, file_count + bind_count, file_count, base, own_range, &shared)) base = own_range, shared = "";

  int group_fds[MAX_GROUPS_DIRS];
  for (int i = 0; i < groups; i++) {
    int group = open(group_paths[i], O_RDONLY | O_DIRECTORY), own = group < 0 ? -1 : openat(group, "lab/cgroup.procs", O_WRONLY | O_CLOEXEC);
    bool given = own >= 0 && (!ranges || give_group(group, base));
    group_fds[i] = !given || write(own, "0", 1) < 0 ? -1 : fcntl(group, F_DUPFD, 40);
    if (group_fds[i] < 0) fail(group_paths[i]);
    close(own), close(group);
  }

  lock = lock < 0 ? -1 : fcntl(lock, F_DUPFD, 40);
  program = program < 0 ? -1 : fcntl(program, F_DUPFD, 40);
  pid_t pid = clone_as(own_range, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS);
  if (pid < 0) fail("clone");
  if (pid == 0) {
    int away[] = {fcntl(listen_fd, F_DUPFD, 20), fcntl(ready[1], F_DUPFD, 20), fcntl(go[0], F_DUPFD, 20)};
    dup2(null, 0), dup2(log, 1), dup2(log, 2);
    dup2(away[0], LISTEN_FD), dup2(away[1], READY_FD);
    int gate = dup2(away[2], READY_FD + 1);
    for (int i = 0; i < groups; i++) dup2(group_fds[i], GROUP_FD + i);
    if (lock >= 0) dup2(lock, RANGE_FD);
    else close(RANGE_FD);
    if (program >= 0) dup2(program, PROGRAM_FD);
    close_range((unsigned)(GROUP_FD + groups), RANGE_FD - 1, 0); /* in particular the other end of the gate */
    close_range(PROGRAM_FD + 1, ~0u, 0);
    become_init(gate, lab_arg, count > 0, groups);
  }
  char path[64], text[512];
  unsigned long long start = start_time(pid);
  const char *maps[] = {"uid_map", "gid_map"};
  unsigned long own[] = {geteuid(), getegid()};
  if (count == 0) {
    snprintf(path, sizeof path, "/proc/%d/setgroups", pid);
    put(path, "deny");
  }
  for (int i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "/proc/%d/%s", pid, maps[i]);
    snprintf(text, sizeof text, "0 %lu %lu\n", count ? base : own[i], count ? count : 1);
    put(path, text);
  }
  /* Written before the lab continues, so that holder.json exists for every running lab. */
  snprintf(text, sizeof text, "{\"lab\":\"%s\",\"pid\":%d,\"start\":%llu,\"version\":%d,\"shared\":\"%s\"}\n", lab_arg + 4, pid, start, PROTOCOL, shared);
  int record = open("holder.json.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (record < 0 || !write_all(record, text, strlen(text)) || rename("holder.json.new", "holder.json") < 0) fail("holder.json");
  if (write(go[1], "g", 1) != 1) fail("start");
  close(ready[1]);
  ssize_t n = read(ready[0], path, sizeof path - 1);
  if (n != 1 || path[0] != 0) {
    fprintf(stderr, "labwright-holder: %.*s\n", n > 0 ? (int)n : 23, n > 0 ? path : "the lab's init has died");
    waitpid(pid, NULL, 0);
    unlink("holder.json");
    unlink("holder.sock");
    return 1;
  }
  signal(SIGPIPE, SIG_IGN);
  write_all(1, text, strlen(text));
  return 0;
}

int main(int argc, char **argv) {
  if (getpid() == 1 && argc == 3 && !strncmp(argv[2], "init-", 5)) lab_init(argv);
  if (argc > 2 && !strcmp(argv[1], "addresses")) return addresses(argc - 2, argv + 2);
  return launch(argc, argv);
}
