/*
 * Snapshots of guests with a kernel of their own. `vm snapshot` boots a guest up to the point at which it would become a node, and saves its state as
 * hibernation does. A node whose root has such a state starts from it. If that fails, its kernel boots.
 *
 * The guest's memory is a memfd, which is saved and filled here: the hypervisor would touch each page of it, which takes much longer than a copy.
 */
#include "vm.h"
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

enum { PATIENCE_S = 60 /* a busy machine */, PAGE = 4096, PIECE = 256 * PAGE };

static bool taking, refused, opened;
static time_t begun;
static int memory = -1;
static char piece[PIECE];

static time_t now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec;
}

void snapshot_prepare(void) { taking = true; }

void snapshot_refuse(void) { refused = true; }

bool taking_snapshot(void) { return taking; }

static bool is_zero(const char *bytes, size_t length) { return bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0; }

/* Writes the piece without its empty pages, which are holes then. */
static bool write_piece(int to, off_t at, size_t length) {
  for (size_t page = 0, end; page < length; page = end) {
    for (end = page; end < length && is_zero(piece + end, PAGE);) end += PAGE;
    if (end > page) continue;
    while (end < length && !is_zero(piece + end, PAGE)) end += PAGE;
    for (size_t done = page; done < end;) {
      ssize_t sent = pwrite(to, piece + done, end - done, at + (off_t)done);
      if (sent <= 0) return false;
      done += (size_t)sent;
    }
  }
  return true;
}

/* Copies the pages that are not empty. Both files have the size of the guest's memory. */
static bool copy_memory(int from, int to) {
  struct stat s;
  if (fstat(from, &s) < 0 || s.st_size % PAGE != 0) return false;
  for (off_t at = 0, end; at < s.st_size; at = end) {
    at = lseek(from, at, SEEK_DATA);
    if (at < 0) return errno == ENXIO; /* the rest is empty */
    at -= at % PAGE;
    ssize_t got = pread(from, piece, PIECE, at);
    if (got <= 0 || got % PAGE != 0 || !write_piece(to, at, (size_t)got)) return false;
    end = at + got;
  }
  return true;
}

bool snapshot_without_memory(void) {
  return qmp(-1, "{\"execute\":\"migrate-set-capabilities\",\"arguments\":{\"capabilities\":[{\"capability\":\"x-ignore-shared\",\"state\":true}]}}");
}

bool snapshot_save_memory(void) {
  int fd = open(SAVED_MEMORY, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  struct stat s;
  bool done = fd >= 0 && fstat(memory, &s) == 0 && ftruncate(fd, s.st_size) == 0 && copy_memory(memory, fd);
  if (fd >= 0) close(fd);
  return done;
}

static bool load_memory(void) {
  struct stat s;
  int fd = open(SNAPSHOT "/memory", O_RDONLY | O_CLOEXEC);
  bool done = fd >= 0 && fstat(fd, &s) == 0 && s.st_size == lseek(memory, 0, SEEK_END) && copy_memory(fd, memory);
  if (fd >= 0) close(fd);
  return done;
}

void snapshot_memory(struct config *c, int *keep, size_t *keep_count) {
  if (!c->memory) return;
  memory = memfd_create("memory", MFD_CLOEXEC);
  if (memory < 0 || ftruncate(memory, (off_t)c->memory << 20) < 0) fail("the guest's memory: %s", strerror(errno));
  config_arg(c, "-object");
  config_arg(c, "memory-backend-file,id=memory,size=%dM,share=on,mem-path=/proc/self/fd/%d", c->memory, memory);
  config_arg(c, "-machine");
  config_arg(c, "memory-backend=memory");
  keep[(*keep_count)++] = memory;
}

/* Opens the snapshot, and fills the memory. Returns -1 if there is none. */
int snapshot_open(void) {
  if (taking || refused || memory < 0) return -1;
  int fd = open(SNAPSHOT "/state", O_RDONLY | O_CLOEXEC);
  opened = fd >= 0;
  begun = now_s();
  if (opened && !load_memory()) boot_instead();
  return fd;
}

void snapshot_load(int state) {
  if (!snapshot_without_memory() || !qmp(state, "{\"execute\":\"getfd\",\"arguments\":{\"fdname\":\"state\"}}") ||
      !qmp(-1, "{\"execute\":\"migrate-incoming\",\"arguments\":{\"uri\":\"fd:state\"}}"))
    boot_instead();
}

bool snapshot_begins(void) { return opened && !guest_connected() && !is_ready(); }

bool snapshot_late(void) { return snapshot_begins() && now_s() - begun > PATIENCE_S; }
