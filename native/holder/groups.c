/* Control groups of nodes. */
#include "groups.h"
#include <linux/sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static size_t hierarchies;
/* Index of the cgroup v2 hierarchy; `hierarchies` if there is none. */
static size_t unified;

void groups_init(void) {
  for (; hierarchies < MAX_GROUPS_DIRS && fcntl(GROUP_FD + (int)hierarchies, F_SETFD, FD_CLOEXEC) == 0; hierarchies++) {}
  while (unified < hierarchies && faccessat(GROUP_FD + (int)unified, "tasks", F_OK, 0) == 0) unified++;
}

static int group_open(size_t hierarchy, long id, const char *file, int flags) {
  char path[160];
  if (snprintf(path, sizeof path, "%ld/%s", id, file) >= (int)sizeof path) return errno = ENAMETOOLONG, -1;
  return openat(GROUP_FD + (int)hierarchy, path, flags | O_CLOEXEC);
}

static bool group_write(size_t hierarchy, long id, const char *file, const char *value) {
  int fd = group_open(hierarchy, id, file, O_WRONLY);
  if (fd < 0) return false;
  bool done = write(fd, value, strlen(value)) >= 0;
  int problem = errno;
  close(fd);
  errno = problem;
  return done;
}

int group_limit(long id, long hierarchy, const char *file, const char *value) {
  char name[24];
  if (hierarchy < 0 || (size_t)hierarchy >= hierarchies || strchr(file, '/')) return errno = EINVAL, -1;
  if (*file && group_write((size_t)hierarchy, id, file, value)) return 0;
  if (*file && errno != ENOENT) return -1;
  snprintf(name, sizeof name, "%ld", id);
  if (mkdirat(GROUP_FD + (int)hierarchy, name, 0755) < 0 && errno != EEXIST) return -1;
  return !*file || group_write((size_t)hierarchy, id, file, value) ? 0 : -1;
}

struct group_handles groups_open(long id) {
  struct group_handles h;
  /* A process with one thread enters cgroup v1 groups by `tasks`, because then the kernel need not block every fork and exit on the machine. */
  for (size_t i = 0; i < ARRAY(h.fds); i++)
    h.fds[i] = i >= hierarchies ? -1 : i == unified ? group_open(i, id, "", O_PATH | O_DIRECTORY) : group_open(i, id, "tasks", O_WRONLY);
  return h;
}

pid_t groups_clone(struct group_handles *h, unsigned long flags) {
  int *group = unified < hierarchies ? &h->fds[unified] : NULL;
  if (!group || *group < 0) return clone_process(flags);
  struct clone_args args = {.flags = flags | CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)*group};
  pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
  if (pid > 0) return pid;
  if (pid == 0) {
    *group = -1; /* the child is in the group already */
    return 0;
  }
  /* After an error of clone3, as in older kernels, the child enters it later, with the other groups. */
  int directory = *group;
  *group = openat(directory, "cgroup.procs", O_WRONLY | O_CLOEXEC);
  close(directory);
  return clone_process(flags);
}

int groups_enter(const struct group_handles *h) {
  for (size_t i = 0; i < ARRAY(h->fds); i++)
    if (h->fds[i] >= 0 && write(h->fds[i], "0", 1) < 0) return -1;
  return 0;
}

void groups_close(struct group_handles *h) {
  int problem = errno;
  for (size_t i = 0; i < ARRAY(h->fds); i++)
    if (h->fds[i] >= 0) close(h->fds[i]);
  errno = problem;
}

bool groups_out_of_memory(long id) {
  static const char *const files[] = {"memory.events", "memory.oom_control"}; /* of version 2 and version 1 */
  for (size_t i = 0; i < hierarchies; i++)
    for (size_t k = 0; k < ARRAY(files); k++) {
      char text[512];
      int fd = group_open(i, id, files[k], O_RDONLY);
      if (fd < 0) continue;
      ssize_t length = read(fd, text, sizeof text - 1);
      close(fd);
      text[length > 0 ? length : 0] = 0;
      const char *kills = strstr(text, "oom_kill ");
      if (kills && strtoul(kills + sizeof "oom_kill " - 1, NULL, 10) > 0) return true;
    }
  return false;
}

void groups_remove(long id) {
  char name[24];
  snprintf(name, sizeof name, "%ld", id);
  for (size_t i = 0; i < hierarchies; i++) unlinkat(GROUP_FD + (int)i, name, AT_REMOVEDIR);
}

bool groups_freeze(long id, bool freeze) {
  for (size_t i = 0; i < hierarchies; i++)
    if (group_write(i, id, "cgroup.freeze", freeze ? "1" : "0") || group_write(i, id, "freezer.state", freeze ? "FROZEN" : "THAWED"))
      return true;
  return false;
}
