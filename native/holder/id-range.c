/* Ranges of ids, and idmapped mounts. */
#include "id-range.h"
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

/* Below 2^31, above all ids that systemd assigns, and without reserved ids. */
enum { FIRST_RANGE = 0x70000000, RANGES = 4094 };

unsigned long range_lock(const char *directory, const char *lab, int *lock) {
  unsigned long at = 5381;
  for (const char *p = lab; *p; p++) at = at * 33 + (unsigned char)*p;
  if (mkdir(directory, 0700) < 0 && errno != EEXIST) return 0;
  int dir = open(directory, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  for (unsigned tried = 0; dir >= 0 && tried < RANGES; tried++) {
    char name[24];
    unsigned long number = (at + tried) % RANGES;
    snprintf(name, sizeof name, "%lu", number);
    *lock = openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (*lock < 0) break;
    if (flock(*lock, LOCK_EX | LOCK_NB) == 0) return close(dir), FIRST_RANGE + number * RANGE_IDS;
    close(*lock);
  }
  if (dir >= 0) close(dir);
  *lock = -1;
  return 0;
}

static bool put_map(pid_t pid, const char *name, unsigned long inside, unsigned long outside, unsigned long count) {
  char path[64], text[96];
  snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
  snprintf(text, sizeof text, "%lu %lu %lu\n", inside, outside, count);
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  bool done = fd >= 0 && write(fd, text, strlen(text)) > 0;
  if (fd >= 0) close(fd);
  return done;
}

static unsigned long own_ids;

bool range_init(void) {
  char text[96];
  int fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
  ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  text[length < 0 ? 0 : length] = 0;
  return sscanf(text, "%*u %*u %lu", &own_ids) == 1;
}

bool range_share(pid_t pid) { return put_map(pid, "uid_map", 0, 0, own_ids) && put_map(pid, "gid_map", 0, 0, own_ids); }

/* Returns a user namespace that only maps ids, or -1. */
static int open_map(unsigned long on_disk, unsigned long base) {
  char path[64];
  int fd = -1;
  pid_t pid = clone_process(CLONE_NEWUSER);
  if (pid == 0)
    for (;;) pause();
  if (pid < 0) return -1;
  if (put_map(pid, "uid_map", on_disk, base, RANGE_IDS) && put_map(pid, "gid_map", on_disk, base, RANGE_IDS)) {
    snprintf(path, sizeof path, "/proc/%d/ns/user", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
  }
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
  return fd;
}

static bool map_directory(const char *path, int map, bool links) {
  struct mount_attr attributes = {.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)map};
  struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS | (links ? 0 : RESOLVE_NO_SYMLINKS)};
  int place = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
  int tree = place < 0 ? -1 : open_tree(place, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_EMPTY_PATH);
  bool done = tree >= 0 && mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes) == 0 &&
              move_mount(tree, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0;
  int problem = errno;
  if (tree >= 0) close(tree);
  if (place >= 0) close(place);
  errno = problem;
  return done;
}

bool range_map_files(char *const *directories, size_t count, size_t plain, unsigned long on_disk, unsigned long base, const char **why) {
  struct utsname kernel;
  int major = 0, minor = 0, map = -1;
  size_t done = 0;
  *why = "the kernel is older than 5.19";
  if (uname(&kernel) < 0 || sscanf(kernel.release, "%d.%d", &major, &minor) != 2 || major * 1000 + minor < 5019) return false;
  if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 || (map = open_map(on_disk, base)) < 0)
    return *why = strerror(errno), false;
  while (done < count && map_directory(directories[done], map, done < plain)) done++;
  int problem = errno;
  close(map);
  if (done == count) return true;
  *why = problem == EINVAL ? "a file system of these directories has no idmapped mounts" : strerror(problem);
  while (done > 0) umount2(directories[--done], MNT_DETACH);
  return false;
}
