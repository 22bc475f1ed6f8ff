/* The settings of the node, sent at each boot. */
#include "guest.h"
#include "../common/io.h"
#include <sys/stat.h>

struct settings settings;

char **texts_of(char *block, size_t length) {
  size_t count = 0;
  for (size_t i = 0; i < length; i++) count += block[i] == 0;
  char **texts = calloc(count + 1, sizeof *texts);
  if (!texts) return NULL;
  char *at = block;
  for (size_t i = 0; i < count; i++, at += strlen(at) + 1) texts[i] = at;
  return texts;
}

static char **kept_texts(const struct guest_message *m) {
  char *copy = malloc(m->length + 1);
  if (!copy) fail("no memory");
  memcpy(copy, m->data, m->length + 1);
  char **texts = texts_of(copy, m->length);
  if (!texts) fail("no memory");
  return texts;
}

/* "<mode in octal> <path>", a NUL, the text. */
static void write_setting_file(const struct guest_message *m) {
  char *path, dir[4096];
  mode_t mode = (mode_t)strtoul(m->data, &path, 8);
  size_t head = strlen(m->data) + 1;
  if (*path != ' ' || head > m->length) return;
  path++;
  snprintf(dir, sizeof dir, "%s", path);
  for (char *slash = strchr(dir + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    mkdir(dir, 0755); /* opening the file reports a failure */
    *slash = '/';
  }
  unlink(path); /* an existing one may be a symbolic link */
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 || !write_all(fd, m->data + head, m->length - head) || fchmod(fd, mode) < 0) fail("%s: %s", path, strerror(errno));
  close(fd);
}

bool setting(const struct guest_message *m) {
  switch (m->type) {
  case 'H':
    if (sethostname(m->data, m->length) < 0) fail("host name %s: %s", m->data, strerror(errno));
    return true;
  case 'V': settings.env = kept_texts(m); return true;
  case 'A': settings.boot = kept_texts(m); return true;
  case 'L': settings.console = kept_texts(m); return true;
  case 'F': write_setting_file(m); return true;
  case 'N': link_added(m->data); return true;
  case 'D': link_removed(m->data); return true;
  default: return false;
  }
}
