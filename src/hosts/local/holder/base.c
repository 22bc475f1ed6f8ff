/* Small things, and what the kernel is asked for. */
#include "base.h"
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

void *need(void *p) {
  if (!p || p == MAP_FAILED) {
    dprintf(2, "labwright-holder: out of memory\n");
    _exit(70);
  }
  return p;
}

int64_t clock_ms(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

bool write_all(int fd, const char *data, size_t length) {
  while (length > 0) {
    ssize_t n = write(fd, data, length);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    data += n;
    length -= (size_t)n;
  }
  return true;
}

/* fork() with namespaces. Raw, so that children are as cheap as the kernel makes them; there are no other threads and no atfork hooks. */
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

enum { OPER_UP = 6 /* IF_OPER_UP of linux/if.h, which does not go with net/if.h */ };

/* Whether the kernel still has to handle a carrier change of this interface: its carrier and its state say different things. */
static bool carrier_pending(struct nlmsghdr *m) {
  struct ifinfomsg *info = NLMSG_DATA(m);
  unsigned left = (unsigned)IFLA_PAYLOAD(m);
  unsigned char carrier = 0, state = 0;
  for (struct rtattr *a = IFLA_RTA(info); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
    if (a->rta_type == IFLA_CARRIER) carrier = *(unsigned char *)RTA_DATA(a);
    if (a->rta_type == IFLA_OPERSTATE) state = *(unsigned char *)RTA_DATA(a);
  }
  return info->ifi_flags & IFF_UP && (state == OPER_UP) != (carrier != 0);
}

/*
 * Asks the kernel by index for each interface of this net namespace whose carrier changed. An answer must tell the true carrier, so asking makes
 * the kernel handle that interface's pending change now, where by itself it handles about a hundred a second. Without statistics, which would be
 * most of what an answer costs.
 */
void sync_carriers(void) {
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0) return;
  struct { struct nlmsghdr header; struct ifinfomsg info; struct rtattr mask; uint32_t filter; } ask = {
    .header = {.nlmsg_len = sizeof ask, .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
    .mask = {.rta_len = RTA_LENGTH(sizeof(uint32_t)), .rta_type = IFLA_EXT_MASK}, .filter = RTEXT_FILTER_SKIP_STATS,
  };
  size_t size = 32 << 10, count = 0, room = 0;
  int *indexes = NULL;
  char *answer = need(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  bool more = send(fd, &ask, sizeof ask, 0) == sizeof ask;
  while (more) {
    ssize_t got = recv(fd, answer, size, 0);
    if (got <= 0) break;
    size_t left = (size_t)got;
    for (struct nlmsghdr *m = (void *)answer; NLMSG_OK(m, left); m = NLMSG_NEXT(m, left)) {
      if (m->nlmsg_type == NLMSG_DONE || m->nlmsg_type == NLMSG_ERROR) more = false;
      if (m->nlmsg_type != RTM_NEWLINK || !carrier_pending(m)) continue;
      if (count == room) indexes = need(realloc(indexes, sizeof *indexes * (room = room ? room * 2 : 16)));
      indexes[count++] = ((struct ifinfomsg *)NLMSG_DATA(m))->ifi_index;
    }
  }
  ask.header.nlmsg_flags = NLM_F_REQUEST;
  for (size_t i = 0; i < count; i++) {
    ask.info.ifi_index = indexes[i];
    if (send(fd, &ask, sizeof ask, 0) < 0 || recv(fd, answer, size, 0) < 0) break;
  }
  free(indexes);
  munmap(answer, size);
  close(fd);
}

unsigned long time_flags(const char *path) {
  struct statvfs v;
  if (statvfs(path, &v) < 0) return 0;
  return (v.f_flag & ST_NOATIME ? MS_NOATIME : 0) | (v.f_flag & ST_NODIRATIME ? MS_NODIRATIME : 0) |
         (v.f_flag & ST_RELATIME ? MS_RELATIME : 0);
}
