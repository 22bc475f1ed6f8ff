/* A node's root: overlay, /proc, /sys, /dev, files. */
#include "node.h"
#include <linux/openat2.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static void require_mount(const char *source, const char *target, const char *type, unsigned long flags, const char *data) {
  require(mount(source, target, type, flags, data), "mount", target);
}

static void require_path(const char *path, mode_t type, mode_t mode) {
  int rc = type == S_IFDIR ? mkdir(path, mode) : mknod(path, S_IFREG | mode, 0);
  require(rc < 0 && errno != EEXIST ? -1 : 0, "make", path);
}

/* A file system of this type. Most roots have the directory, and trying to make it would cost as much as the mount. */
static void require_new_mount(const char *type, const char *target, mode_t mode, unsigned long flags, const char *data) {
  if (mount(type, target, type, flags, data) == 0) return;
  if (errno == ENOENT) require_path(target, S_IFDIR, mode);
  require_mount(type, target, type, flags, data);
}

/* Escapes a path for mount options: a comma, and in lowerdir a colon, would end the path. */
static char *escape(char *at, const char *end, const char *path) {
  for (; *path && at + 2 < end; path++) {
    if (strchr("\\,:", *path)) *at++ = '\\';
    *at++ = *path;
  }
  if (*path) {
    errno = E2BIG;
    setup_failed("overlay options", "");
  }
  *at = 0;
  return at;
}

static void mount_overlay(struct spawn *s) {
  static char options[4096]; /* mount(2) takes at most one page */
  char path[4096], *at = stpcpy(options, "userxattr,lowerdir="), *end = options + sizeof options - 64;
  for (uint32_t i = 0; i < s->lower.count; i++) {
    if (i) *at++ = ':';
    at = escape(at, end, reader_text(&s->lower.items));
  }
  const char *const names[] = {"upper", "work"};
  for (int i = 0; i < 2; i++) {
    int length = snprintf(path, sizeof path, "%s/%s", s->disk, names[i]);
    if (length >= (int)sizeof path) errno = ENAMETOOLONG, setup_failed("disk", "");
    require_path(path, S_IFDIR, 0755);
    at = stpcpy(at, i ? ",workdir=" : ",upperdir=");
    at = escape(at, end, path);
  }
  require(mount("overlay", s->disk, "overlay", 0, options), "overlay on", s->disk);
}

static int open_directory(const char *path) {
  struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS};
  return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

/* Creates the directory and its parents if they are missing. */
static int make_directory(char *path) {
  int at = open_directory(path);
  if (at >= 0 || errno != ENOENT) return at;
  for (char *slash = path; slash;) {
    slash = strchr(slash + 1, '/');
    if (slash) *slash = 0;
    int rc = mkdir(path, 0755);
    if (slash) *slash = '/';
    if (rc < 0 && errno != EEXIST) return -1;
  }
  return open_directory(path);
}

/* Returns whether the name is that of a bind, which has a source and a target. */
static bool is_bind(const char *name) { return strcmp(name, "ro") == 0 || strcmp(name, "rw") == 0; }

/* Devices of the machine that a node can get in addition to the standard devices. */
static const char *const machine_devices[] = {"kvm"};

static void mount_machine_devices(struct list wanted) {
  for (uint32_t i = 0; i < wanted.count; i++) {
    const char *name = reader_text(&wanted.items);
    bool known = false;
    if (is_bind(name)) {
      for (int k = 0; k < 2; k++) reader_text(&wanted.items);
      i += 2;
      continue;
    }
    for (size_t k = 0; k < ARRAY(machine_devices); k++) known = known || strcmp(name, machine_devices[k]) == 0;
    if (!known) errno = EINVAL, setup_failed("device", name);
    char from[32], to[32];
    snprintf(from, sizeof from, "dev/%s", name); /* relative: the machine's */
    snprintf(to, sizeof to, "/dev/%s", name);
    require_path(to, S_IFREG, 0666);
    require_mount(from, to, NULL, MS_BIND, NULL);
  }
}

/* Returns the path in the node as a place for a mount: a directory, or an empty file. */
static int make_place(const char *path, mode_t type) {
  char dir[4096];
  if (snprintf(dir, sizeof dir, "%s", path) >= (int)sizeof dir) return errno = ENAMETOOLONG, -1;
  if (type == S_IFDIR) return make_directory(dir);
  char *name = strrchr(dir, '/');
  *name++ = 0;
  int at = *dir ? make_directory(dir) : open_directory("/");
  if (at < 0) return -1;
  int made = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (made >= 0) close(made);
  int place = made < 0 && errno != EEXIST ? -1 : openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  close(at);
  return place;
}

/*
 * Shows a file or directory of the machine in the node. The working directory is the machine's root. A symbolic link on the way is an error: who may write in a
 * bound directory could otherwise choose what is bound. The node cannot change the mount's flags, because it makes no mounts (calls.c).
 */
static void bind_path(const char *source, const char *target, bool writable) {
  struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
  struct mount_attr flags = {.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (writable ? 0 : MOUNT_ATTR_RDONLY)};
  if (*source != '/' || *target != '/') errno = EINVAL, setup_failed("bind", source);
  int from = (int)syscall(SYS_openat2, AT_FDCWD, source + 1, &how, sizeof how);
  require(from, "bind", source);
  struct stat found;
  require(fstat(from, &found), "bind", source);
  mode_t type = found.st_mode & S_IFMT;
  if (type != S_IFDIR && type != S_IFREG) errno = EINVAL, setup_failed("bind", source);
  int tree = open_tree(from, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_EMPTY_PATH);
  require(tree, "bind", source);
  require(mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &flags, sizeof flags), "bind", source);
  int place = make_place(target, type);
  require(place, "bind", target);
  require(move_mount(tree, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH), "bind", target);
  close(from), close(tree), close(place);
}

static void mount_binds(struct list lent) {
  for (uint32_t i = 0; i < lent.count; i++) {
    const char *name = reader_text(&lent.items);
    if (!is_bind(name)) continue;
    const char *source = reader_text(&lent.items), *target = reader_text(&lent.items);
    bind_path(source, target, strcmp(name, "rw") == 0);
    i += 2;
  }
}

/* Returns the node's side of the terminal. Stores the holder's side in *master. */
static int mount_dev(int *master, struct list lent) {
  static const char *const devices[] = {"null", "zero", "full", "random", "urandom", "tty", "net/tun"};
  static const char *const links[][2] = {
    {"/proc/self/fd", "/dev/fd"}, {"fd/0", "/dev/stdin"}, {"fd/1", "/dev/stdout"}, {"fd/2", "/dev/stderr"}, {"pts/ptmx", "/dev/ptmx"},
  };
  /* One file system for /dev and /dev/shm, of which only /dev/shm is writable: every file system makes each control group of the machine larger. */
  require_new_mount("tmpfs", "/dev", 0755, MS_NOSUID | MS_NOEXEC, "mode=755,size=64m");
  require_path("/dev/pts", S_IFDIR, 0755);
  require_path("/dev/net", S_IFDIR, 0755);
  require_path("/dev/shm", S_IFDIR, 01777);
  require_mount("/dev/shm", "/dev/shm", NULL, MS_BIND, NULL);
  require_mount(NULL, "/dev/shm", NULL, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV, NULL);
  for (size_t i = 0; i < ARRAY(devices); i++) {
    char from[32], to[32];
    sprintf(from, "dev/%s", devices[i]); /* relative: the machine's */
    sprintf(to, "/dev/%s", devices[i]);
    if (access(from, F_OK) < 0 && strcmp(devices[i], "net/tun") == 0) continue;
    require_path(to, S_IFREG, 0666);
    require_mount(from, to, NULL, MS_BIND, NULL);
  }
  mount_machine_devices(lent);
  for (size_t i = 0; i < ARRAY(links); i++) require(symlink(links[i][0], links[i][1]), "link", links[i][1]);
  unsigned long flags = MS_NOSUID | MS_NOEXEC;
  /* If only one id is mapped, there is no group tty. `max` is set because all nodes share the machine's kernel.pty.max. */
  if (mount("devpts", "/dev/pts", "devpts", flags, "newinstance,ptmxmode=0666,mode=0620,max=64,gid=5") < 0)
    require_mount("devpts", "/dev/pts", "devpts", flags, "newinstance,ptmxmode=0666,mode=0620,max=64");
  int unlock = 0, slave = -1;
  *master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  require(*master, "open", "/dev/pts/ptmx");
  require(ioctl(*master, TIOCSPTLCK, &unlock), "unlock", "/dev/pts/ptmx");
  slave = ioctl(*master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  require(slave, "open", "/dev/pts/0");
  struct winsize size = {.ws_row = 24, .ws_col = 80};
  require(ioctl(*master, TIOCSWINSZ, &size), "size of", "/dev/pts/0");
  require_path("/dev/console", S_IFREG, 0600);
  require_mount("/dev/pts/0", "/dev/console", NULL, MS_BIND, NULL);
  return slave;
}

/* Files of /proc and /sys that describe the machine, or that its root could use. */
static const char *const masked_files[] = {
  "/proc/kcore", "/proc/keys", "/proc/key-users", "/proc/kallsyms", "/proc/kmsg", "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug",
  "/proc/sysrq-trigger", "/proc/kpagecount", "/proc/kpageflags", "/proc/kpagecgroup", "/proc/modules", "/proc/config.gz", "/proc/latency_stats",
  "/proc/cmdline", "/proc/interrupts", "/proc/iomem", "/proc/ioports", "/proc/vmallocinfo", "/proc/mtrr",
};

/* The files that the kernel opens for the machine's root alone, which nodes of this lab are not. A mount over each of them would only take time. */
static bool closed[ARRAY(masked_files)];

static bool is_refused(const char *path, int how) {
  int fd = open(path, how | O_CLOEXEC);
  if (fd >= 0) close(fd);
  return fd < 0 && errno == EACCES;
}

void make_root_init(void) {
  for (size_t i = 0; i < ARRAY(masked_files); i++) closed[i] = is_refused(masked_files[i], O_RDONLY) && is_refused(masked_files[i], O_WRONLY);
}

static void mask_machine(void) {
  static const char *const dirs[] = {
    "/proc/acpi", "/proc/asound", "/proc/scsi", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/sys/user", "/sys/firmware", "/sys/kernel",
    "/sys/devices/virtual/powercap", "/sys/devices/virtual/thermal", "/sys/devices/virtual/dmi",
  };
  for (size_t i = 0; i < ARRAY(masked_files); i++)
    if (!closed[i] && mount("/dev/null", masked_files[i], NULL, MS_BIND, NULL) < 0 && errno != ENOENT) setup_failed("mask", masked_files[i]);
  for (size_t i = 0; i < ARRAY(dirs); i++)
    if (mount(EMPTY_DIRECTORY, dirs[i], NULL, MS_BIND, NULL) < 0 && errno != ENOENT) setup_failed("mask", dirs[i]);
}

/* A net namespace takes 300 KiB of the kernel's memory, most of which no memory group counts. The file is hidden from the node afterwards. */
static void limit_net_namespaces(void) {
  static const char path[] = "/proc/sys/user/max_net_namespaces", most[] = "128";
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  require(fd < 0 || write(fd, most, sizeof most - 1) < 0 ? -1 : 0, "limit", path);
  close(fd);
}

/*
 * The old root stays the working directory until everything is mounted: relative paths are the machine's, absolute paths the node's.
 * So symbolic links on the node's disk cannot lead out of the node's root.
 */
int make_root(struct spawn *s, bool limits, int *master) {
  const unsigned long quiet = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  mount_overlay(s);
  int old = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  require(old, "open", "/");
  require(chdir(s->disk), "enter", s->disk);
  require((int)syscall(SYS_pivot_root, ".", "."), "pivot_root", "");
  require(fchdir(old), "enter", "the old root");
  close(old);
  require_new_mount("proc", "/proc", 0555, quiet | proc_times, NULL);
  if (limits) limit_net_namespaces();
  require_new_mount("sysfs", "/sys", 0555, quiet | MS_RDONLY | sys_times, NULL);
  int slave = mount_dev(master, s->devices);
  mask_machine();
  require_new_mount("tmpfs", "/run", 0755, MS_NOSUID | MS_NODEV, "mode=755,size=64m");
  require_new_mount("tmpfs", "/tmp", 01777, MS_NOSUID | MS_NODEV, "mode=1777,size=256m");
  mount_binds(s->devices);
  require(umount2(".", MNT_DETACH), "detach", "the old root");
  require(chdir("/"), "enter", "/");
  return slave;
}

void write_file(const char *path, mode_t mode, const char *text, size_t length) {
  char dir[4096];
  if (snprintf(dir, sizeof dir, "%s", path) >= (int)sizeof dir) errno = ENAMETOOLONG, setup_failed("file", path);
  char *name = strrchr(dir, '/');
  *name++ = 0;
  int at = *dir ? make_directory(dir) : open_directory("/");
  require(at, "file", path);
  /* Always creates a new file: an existing one may be a symbolic link. */
  require(unlinkat(at, name, 0) < 0 && errno != ENOENT ? -1 : 0, "file", path);
  int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  require(fd, "file", path);
  require(write_all(fd, text, length) && fchmod(fd, mode) == 0 ? 0 : -1, "file", path);
  close(fd);
  close(at);
}
