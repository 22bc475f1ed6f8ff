/* Makes a root file system that contains only the files that sharkd reads. */
#include "decoder.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Directories and files that sharkd reads, if the machine has them. A symbolic link, as /lib often is, stays a link. */
static const char *const libraries[] = {"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share/wireshark", "/etc/ld.so.cache"};

/* A remount would have to repeat every flag of the machine's mount. mount_setattr changes only the requested flags. */
static void read_only(const char *path) {
  struct mount_attr wanted = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};
  if (mount_setattr(AT_FDCWD, path, 0, &wanted, sizeof wanted) < 0) fail(path);
}

static void make_parents(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    if (mkdir(path, 0755) < 0 && errno != EEXIST) fail(path);
    *slash = '/';
  }
}

static void show(const char *root, const char *path) {
  struct stat found;
  if (lstat(path, &found) < 0) {
    if (errno == ENOENT) return;
    fail(path);
  }
  char target[PATH_MAX];
  if (snprintf(target, sizeof target, "%s%s", root, path) >= (int)sizeof target) errno = ENAMETOOLONG, fail(path);
  make_parents(target);
  if (S_ISLNK(found.st_mode)) {
    char link[PATH_MAX];
    ssize_t length = readlink(path, link, sizeof link - 1);
    if (length < 0) fail(path);
    link[length] = 0;
    if (symlink(link, target) < 0) fail(path);
    return;
  }
  if (S_ISDIR(found.st_mode) ? mkdir(target, 0755) < 0 : mknod(target, S_IFREG | 0644, 0) < 0) fail(target);
  if (mount(path, target, NULL, MS_BIND, NULL) < 0) fail(path);
  read_only(target);
}

void make_root(const char *program, const char *over) {
  char view[PATH_MAX];
  if (snprintf(view, sizeof view, "%s/view", over) >= (int)sizeof view) errno = ENAMETOOLONG, fail(over);
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) fail("make all mounts private");
  /* The working directory is usually below `over`. The mount on `over` hides it, but the process still has it open. */
  if (mount("none", over, "tmpfs", MS_NOSUID | MS_NODEV, "size=64k,mode=755") < 0) fail(over);
  if (mkdir(view, 0755) < 0 || mount(".", view, NULL, MS_BIND, NULL) < 0) fail(view);
  read_only(view);
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) show(over, libraries[i]);
  show(over, program);
  if (chdir(over) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0) fail("change the root with pivot_root");
  read_only("/");
  if (chdir("/view") < 0) fail("enter /view");
}
