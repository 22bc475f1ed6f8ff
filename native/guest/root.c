/* The node's root: read-only images, and over them the node's own disk. */
#include "guest.h"
#include <dirent.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { MAX_LAYERS = 8 };

static void require_mount(const char *source, const char *target, const char *type, unsigned long flags, const char *data) {
  if (mkdir(target, 0755) < 0 && errno != EEXIST) fail("%s: %s", target, strerror(errno));
  if (mount(source, target, type, flags, data) < 0) fail("mount %s: %s", target, strerror(errno));
}

/* The initial RAM disk lists the modules in loading order. */
void load_modules(void) {
  char path[256];
  FILE *order = fopen("/modules/order", "re");
  if (!order) fail("/modules/order: %s", strerror(errno));
  while (fgets(path, sizeof path, order)) {
    path[strcspn(path, "\n")] = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || syscall(SYS_finit_module, fd, "", 0) < 0) fail("module %s: %s", path, strerror(errno));
    close(fd);
    unlink(path); /* its memory is free again */
  }
  fclose(order);
}

/* Returns the device whose serial number is the name, or NULL. */
static const char *disk_named(const char *name) {
  static char path[512];
  DIR *all = opendir("/sys/block");
  for (struct dirent *e = all ? readdir(all) : NULL; e; e = readdir(all)) {
    char serial[32] = "";
    snprintf(path, sizeof path, "/sys/block/%s/serial", e->d_name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    (void)!read(fd, serial, sizeof serial - 1);
    close(fd);
    serial[strcspn(serial, "\n")] = 0;
    snprintf(path, sizeof path, "/dev/%s", e->d_name);
    if (!strcmp(serial, name)) return closedir(all), path;
  }
  if (all) closedir(all);
  return NULL;
}

static char options[512];

void mount_images(void) {
  const size_t size = sizeof options;
  size_t length = (size_t)snprintf(options, size, "upperdir=/disk/upper,workdir=/disk/work,lowerdir=");
  for (int i = 0; i < MAX_LAYERS; i++) {
    char name[16], at[32];
    snprintf(name, sizeof name, "root%d", i);
    snprintf(at, sizeof at, "/lower%d", i);
    const char *device = disk_named(name);
    if (!device) break;
    require_mount(device, at, "squashfs", MS_RDONLY, NULL);
    length += (size_t)snprintf(options + length, size - length, "%s%s", i ? ":" : "", at);
  }
}

static void mount_devices(void) {
  static const char *const links[][2] = {{"/proc/self/fd", "dev/fd"}, {"fd/0", "dev/stdin"}, {"fd/1", "dev/stdout"}, {"fd/2", "dev/stderr"}};
  require_mount("devtmpfs", "dev", "devtmpfs", MS_NOSUID, NULL);
  require_mount("devpts", "dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "ptmxmode=0666,mode=0620,gid=5");
  require_mount("tmpfs", "dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
  for (size_t i = 0; i < ARRAY(links); i++) (void)!symlink(links[i][0], links[i][1]);
}

/* A snapshot was taken with another disk: nothing of that one may be left in memory. */
static void forget_blocks(const char *disk) {
  int fd = open(disk, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || ioctl(fd, BLKFLSBUF, 0) < 0) fail("%s: %s", disk, strerror(errno));
  close(fd);
}

void enter_root(void) {
  const char *disk = disk_named("disk");
  if (!disk) fail("the node's disk is missing");
  forget_blocks(disk);
  /* A node that is switched off loses at most a second of what it wrote. */
  require_mount(disk, "/disk", "ext4", MS_NOATIME, "commit=1");
  if ((mkdir("/disk/upper", 0755) < 0 || mkdir("/disk/work", 0755) < 0) && errno != EEXIST) fail("the node's disk: %s", strerror(errno));
  require_mount("overlay", "/system", "overlay", 0, options);
  if (chdir("/system") < 0) fail("/system: %s", strerror(errno));
  require_mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
  require_mount("sysfs", "sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
  mount_devices();
  require_mount("tmpfs", "run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=64m");
  require_mount("tmpfs", "tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
  if (mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 || chdir("/") < 0) fail("the root: %s", strerror(errno));
}
