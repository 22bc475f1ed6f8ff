/* The boot command labwright-boot: sets up a node without a shell or any other program. README.md lists its features. */
#include "boot.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONFIG "/etc/labwright/startup-config"
#define COMMANDS "/etc/labwright/exec"
#define NAME "labwright-boot"

enum { MAX_TEXT = 64 << 10 };

/* Sets the switch in both cases, because a new net namespace inherits the machine's value. Reads it first: writing takes the kernel's one lock of networking. */
static bool set_switch(const char *path, char wanted, bool optional) {
  char now;
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return optional && access(path, F_OK) < 0;
  bool done = (pread(fd, &now, 1, 0) == 1 && now == wanted) || pwrite(fd, &wanted, 1, 0) == 1;
  close(fd);
  return done;
}

static bool set_forwarding(char **env) {
  char value = '0';
  for (char **e = env; e && *e; e++)
    if (!strcmp(*e, "LABWRIGHT_FORWARDING=true")) value = '1';
  return set_switch("/proc/sys/net/ipv4/ip_forward", value, false) && set_switch("/proc/sys/net/ipv6/conf/all/forwarding", value, true);
}

static bool is_empty(const char *path) {
  struct stat s;
  return stat(path, &s) < 0 || s.st_size == 0;
}

/* Carries out the plain lines of the text up to the first line that is not plain. Modifies the text. Returns the number of done lines, -1 for all. */
static long run_lines(char *text) {
  long done = 0;
  for (char *line = text, *end; *line; line = end, done++) {
    end = strchrnul(line, '\n');
    if (*end) *end++ = 0;
    if (!plain_line(line)) return done;
  }
  return -1;
}

/* The same for the file with the commands. */
static long run_plain(void) {
  struct stat s;
  /* Never waits, because the node's init runs this code. */
  int fd = open(COMMANDS, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return -1;
  long done = 0;
  char *text = fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_size <= MAX_TEXT ? malloc((size_t)s.st_size + 1) : NULL;
  if (text && read(fd, text, (size_t)s.st_size) == s.st_size && !memchr(text, 0, (size_t)s.st_size)) {
    text[s.st_size] = 0;
    done = run_lines(text);
    requests_end();
  }
  free(text);
  close(fd);
  return done;
}

char **boot_here(char **argv, char **env) {
  static char count[24];
  static char *script[] = {NAME, NULL, count, NULL};
  if (strcmp(argv[0], NAME)) return argv;
  long done = 0;
  if (argv[1] && !argv[2] && !strcmp(argv[1], "linux") && is_empty(CONFIG) && set_forwarding(env)) done = run_plain();
  if (done < 0) return NULL;
  snprintf(count, sizeof count, "%ld", done);
  script[1] = argv[1] ? argv[1] : "";
  return script;
}
