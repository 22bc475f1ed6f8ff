/*
 * Takes as much of a shared kernel table as it can, reports how much in one line, and holds it until it is killed. Test program; shared-tables.test.ts runs it.
 *
 *   abuse neighbours <count> | scan | inotify | terminals | rings | small-rings | aio
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BATCH = 256, MOST = 5000 };

struct entry {
  struct nlmsghdr header;
  struct ndmsg body;
  struct rtattr to_head;
  unsigned char to[4];
  struct rtattr mac_head;
  unsigned char mac[8]; /* 6, and padding */
};

/* Sets entries of 10.64.0.0/10 that the kernel takes for reachable, with another link address in each round: so none of them ages. */
static void neighbours(unsigned count) {
  static struct entry batch[BATCH];
  int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
  unsigned device = if_nametoindex("eth0");
  for (unsigned char round = 0;; round++) {
    for (unsigned at = 0; at < count; at += BATCH) {
      for (unsigned i = 0; i < BATCH; i++) {
        unsigned host = at + i;
        batch[i] = (struct entry){
          .header = {.nlmsg_len = sizeof *batch, .nlmsg_type = RTM_NEWNEIGH, .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_REPLACE},
          .body = {.ndm_family = AF_INET, .ndm_ifindex = (int)device, .ndm_state = NUD_REACHABLE},
          .to_head = {.rta_len = 8, .rta_type = NDA_DST},
          .to = {10, (unsigned char)(64 + (host >> 16)), (unsigned char)(host >> 8), (unsigned char)host},
          .mac_head = {.rta_len = 10, .rta_type = NDA_LLADDR},
          .mac = {2, 0, 0, 0, 0, round},
        };
      }
      if (send(fd, batch, sizeof batch, 0) < 0 && errno != ENOBUFS) perror("neighbours"), exit(1);
      static char answers[1 << 16];
      while (recv(fd, answers, sizeof answers, MSG_DONTWAIT) > 0) {}
    }
    if (round == 0) printf("%u\n", count), fflush(stdout);
  }
}

/* Sends to each address of 10.96.0.0/16, over and over: the kernel asks for the link address of each. */
static void scan(void) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
  for (int round = 0;; round++) {
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    for (unsigned host = 0; host < 1 << 16; host++) {
      to.sin_addr.s_addr = htonl(10u << 24 | 96u << 16 | host);
      (void)!sendto(fd, "", 1, MSG_DONTWAIT, (struct sockaddr *)&to, sizeof to);
    }
    close(fd);
    if (round == 0) printf("%d\n", 1 << 16), fflush(stdout);
  }
}

static int ring_of(unsigned blocks) {
  struct tpacket_req size = {.tp_block_size = 1 << 20, .tp_block_nr = blocks, .tp_frame_size = 2048, .tp_frame_nr = blocks * 512};
  int fd = socket(AF_PACKET, SOCK_RAW, 0);
  if (fd < 0) return -1;
  if (setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &size, sizeof size) == 0) return fd;
  int problem = errno;
  close(fd);
  errno = problem;
  return -1;
}

static int ring(void) { return ring_of(64); }

static int small_ring(void) { return ring_of(1); }

static int aio(void) {
  unsigned long context = 0;
  return (int)syscall(SYS_io_setup, 16384, &context);
}

int main(int argc, char **argv) {
  static const struct { const char *name; int (*take)(void); } tables[] = {{"inotify", inotify_init}, {"rings", ring}, {"small-rings", small_ring}, {"aio", aio}};
  const char *name = argc > 1 ? argv[1] : "";
  struct rlimit files = {MOST + 100, MOST + 100};
  setrlimit(RLIMIT_NOFILE, &files);
  int taken = 0;
  if (!strcmp(name, "neighbours") && argc > 2) neighbours((unsigned)atoi(argv[2]));
  if (!strcmp(name, "scan")) scan();
  if (!strcmp(name, "terminals"))
    while (taken < MOST && open("/dev/ptmx", O_RDWR | O_NOCTTY) >= 0) taken++;
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    if (!strcmp(name, tables[i].name))
      while (taken < (i == 1 ? 16 : MOST) && tables[i].take() >= 0) taken++;
  printf("%d %s\n", taken, strerror(errno));
  fflush(stdout);
  pause();
  return 0;
}
