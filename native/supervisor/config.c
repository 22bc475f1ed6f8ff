/* The settings file: one setting a line, a word, a blank and the rest of the line. */
#include "vm.h"
#include <stdarg.h>
#include <sys/stat.h>

static char *slurp(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat s;
  if (fd < 0 || fstat(fd, &s) < 0) fail("%s: %s", path, strerror(errno));
  char *text = calloc(1, (size_t)s.st_size + 1);
  ssize_t got = text ? read(fd, text, (size_t)s.st_size) : -1;
  if (got != s.st_size) fail("%s could not be read completely", path);
  close(fd);
  return text;
}

static void add_arg(struct config *c, const char *arg) {
  if (c->arg_count + 1 >= c->arg_room) {
    c->arg_room = c->arg_room ? c->arg_room * 2 : 128;
    c->args = realloc(c->args, c->arg_room * sizeof *c->args);
    if (!c->args) fail("no memory");
  }
  c->args[c->arg_count++] = (char *)(uintptr_t)arg;
  c->args[c->arg_count] = NULL;
}

void config_arg(struct config *c, const char *format, ...) {
  char *text;
  va_list args;
  va_start(args, format);
  if (vasprintf(&text, format, args) < 0) fail("no memory");
  va_end(args);
  add_arg(c, text);
}

void config_read(struct config *c, const char *path) {
  char *at = c->text = slurp(path), *line;
  while ((line = strsep(&at, "\n"))) {
    if (!*line) continue;
    char *rest = strchr(line, ' ');
    if (!rest) fail("%s: %s has no value", path, line);
    *rest++ = 0;
    if (!strcmp(line, "arg")) add_arg(c, rest);
    else if (!strcmp(line, "ready")) c->ready = rest;
    else if (!strcmp(line, "failed")) c->failed = rest;
    else if (!strcmp(line, "drive")) c->label = rest;
    else if (!strcmp(line, "append")) c->append = rest;
    else if (!strcmp(line, "management")) c->management = rest;
    else if (!strcmp(line, "memory")) {
      c->memory = atoi(rest);
      if (c->memory < 1 || c->memory > MAX_MEMORY) fail("%s: memory %s", path, rest);
    }
    else if (!strcmp(line, "guest")) {
      c->guest_links = atoi(rest);
      if (c->guest_links < 0 || c->guest_links >= MAX_PORTS) fail("%s: guest %s", path, rest);
      c->own_kernel = true;
    }
    else if (!strcmp(line, "nic") && strchr(rest, ' ')) {
      c->nic = rest;
      char *blank = strchr(rest, ' ');
      *blank = 0;
      c->bus = blank + 1;
    } else if (!strcmp(line, "disk") && strchr(rest, ' ') && c->disk_count < ARRAY(c->disks)) {
      char *blank = strchr(rest, ' ');
      *blank = 0;
      c->disks[c->disk_count].format = rest;
      c->disks[c->disk_count++].file = blank + 1;
    } else fail("%s: unknown setting %s", path, line);
  }
  if (!c->arg_count || (!c->nic && !c->own_kernel)) fail("%s: no arguments or no interface model", path);
}
