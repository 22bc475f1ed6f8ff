/* Disks: the node writes to its own overlay files. The files of its image are never changed. */
#include "vm.h"
#include <sys/stat.h>

static bool there(const char *path) { return access(path, F_OK) == 0; }

/* Makes a directory that belongs to the user of the hypervisor. */
static void make_directory(const char *path) {
  if (mkdir(path, 0700) < 0 && errno != EEXIST) fail("%s: %s", path, strerror(errno));
  /* EINVAL: the node has no other user id than root's, so the hypervisor runs as root. */
  if (chown(path, VM_UID, VM_UID) < 0 && errno != EINVAL) fail("%s: %s", path, strerror(errno));
}

void make_disks(const struct config *c) {
  if (mkdir(RUN, 0755) < 0 && errno != EEXIST) fail("%s: %s", RUN, strerror(errno));
  make_directory(DISKS);
  make_directory(RUN "/screen");
  make_directory(RUN "/agent");
  for (size_t i = 0; i < c->disk_count; i++) {
    char path[64], draft[64], file[512];
    snprintf(path, sizeof path, DISKS "/disk%zu.qcow2", i);
    snprintf(draft, sizeof draft, DISKS "/disk%zu.new", i);
    snprintf(file, sizeof file, "/%s", c->disks[i].file);
    if (there(path)) continue;
    unlink(draft);
    char *const argv[] = {"/usr/bin/qemu-img", "create", "-q", "-f", "qcow2", "-b", file, "-F", (char *)(uintptr_t)c->disks[i].format, draft, NULL};
    if (run(argv, "", false) != 0 || rename(draft, path) < 0) fail("the disk over %s could not be made", c->disks[i].file);
  }
}

void make_config_drive(const struct config *c) {
  /* A saved state continues with the config drive that it had. */
  if (!c->label || there(SAVED_STATE)) return;
  char *const argv[] = {
    "/usr/bin/genisoimage", "-quiet", "-output", RUN "/config.new", "-volid", (char *)(uintptr_t)c->label, "-joliet", "-rock", DRIVE_FILES, NULL,
  };
  if (run(argv, "", true) != 0) fail("the config drive could not be made");
  /* The hypervisor can write to the directory, so the file may be a symbolic link. The hypervisor does not run yet. */
  unlink(DISKS "/config.iso");
  char *const copy[] = {"/usr/bin/busybox", "cp", RUN "/config.new", DISKS "/config.iso", NULL};
  if (run(copy, "", true) != 0 || chmod(DISKS "/config.iso", 0644) < 0) fail("the config drive could not be kept");
  unlink(RUN "/config.new");
}
