/* Clocks, processes, carriers. */
#include "base.h"
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

int64_t clock_ms(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* fork() with namespaces. Calls the kernel directly, because that is fastest: there are no other threads and no atfork hooks. */
int descriptor_keep(int fd) {
  int kept = fcntl(fd, F_DUPFD_CLOEXEC, KEPT_FD);
  if (kept < 0) return fd;
  close(fd);
  return kept;
}

pid_t clone_process(unsigned long flags) {
  return (pid_t)syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
}

int loopback_up(void) {
  struct ifreq request = {.ifr_name = "lo"};
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  int rc = fd < 0 ? -1 : ioctl(fd, SIOCGIFFLAGS, &request);
  if (rc == 0) {
    request.ifr_flags |= IFF_UP;
    rc = ioctl(fd, SIOCSIFFLAGS, &request);
  }
  if (fd >= 0) close(fd);
  return rc;
}

/* Parses a line of /proc/net/dev: spaces, the interface's name, a colon. A heading has no colon, or too many characters before it for a name. */
static void sync_carrier(int fd, const char *line, const char *end) {
  struct ethtool_value link = {.cmd = ETHTOOL_GLINK};
  struct ifreq request = {.ifr_data = (void *)&link};
  while (line < end && *line == ' ') line++;
  const char *colon = memchr(line, ':', (size_t)(end - line));
  if (!colon || colon - line >= (int)sizeof request.ifr_name) return;
  memcpy(request.ifr_name, line, (size_t)(colon - line));
  if (strcmp(request.ifr_name, "lo")) (void)!ioctl(fd, SIOCETHTOOL, &request); /* an interface that is gone has no pending change */
}

/*
 * Asks the kernel for the carrier of each interface of this net namespace. The kernel handles a pending change before it answers; by itself it handles only
 * about a hundred of them a second. Uses the ethtool call, because a request for all attributes of an interface takes ten times as long.
 */
void sync_carriers(void) {
  char text[4096], *end;
  size_t held = 0;
  int list = open("/proc/thread-self/net/dev", O_RDONLY | O_CLOEXEC), fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  for (ssize_t got; list >= 0 && fd >= 0 && (got = read(list, text + held, sizeof text - held)) > 0;) {
    char *line = text;
    held += (size_t)got;
    for (; (end = memchr(line, '\n', (size_t)(text + held - line))); line = end + 1) sync_carrier(fd, line, end);
    held = (size_t)(text + held - line);
    memmove(text, line, held);
  }
  if (list >= 0) close(list);
  if (fd >= 0) close(fd);
}

unsigned long access_time_flags(const char *path) {
  struct statvfs v;
  if (statvfs(path, &v) < 0) return 0;
  return (v.f_flag & ST_NOATIME ? MS_NOATIME : 0) | (v.f_flag & ST_NODIRATIME ? MS_NODIRATIME : 0) |
         (v.f_flag & ST_RELATIME ? MS_RELATIME : 0);
}
