/*
 * Takes as much of a shared kernel table as it can, reports how much in one line, and holds it until it is killed. Test program; shared-tables.test.ts runs it.
 *
 *   abuse neighbours <count> | scan | inotify | terminals | rings | small-rings | aio
 *   abuse netlink | large-netlink | messages | packet | raw | udp | tcp | unix | in-flight | namespaces
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
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BATCH = 256, MAX_OBJECTS = 5000 };

struct entry {
  struct nlmsghdr header;
  struct ndmsg body;
  struct rtattr to_head;
  unsigned char to[4];
  struct rtattr mac_head;
  unsigned char mac[8]; /* 6, and padding */
};

/* Sets neighbour entries of 10.64.0.0/10 as reachable. Each round uses another link address, so that no entry ages. */
static void neighbours(unsigned count) {
  static struct entry batch[BATCH];
  int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
  unsigned device = if_nametoindex("eth0");
  for (unsigned long round = 0;; round++) {
    for (unsigned at = 0; at < count; at += BATCH) {
      for (unsigned i = 0; i < BATCH; i++) {
        unsigned host = at + i;
        batch[i] = (struct entry){
          .header = {.nlmsg_len = sizeof *batch, .nlmsg_type = RTM_NEWNEIGH, .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_REPLACE},
          .body = {.ndm_family = AF_INET, .ndm_ifindex = (int)device, .ndm_state = NUD_REACHABLE},
          .to_head = {.rta_len = 8, .rta_type = NDA_DST},
          .to = {10, (unsigned char)(64 + (host >> 16)), (unsigned char)(host >> 8), (unsigned char)host},
          .mac_head = {.rta_len = 10, .rta_type = NDA_LLADDR},
          .mac = {2, 0, 0, 0, 0, (unsigned char)round},
        };
      }
      if (send(fd, batch, sizeof batch, 0) < 0 && errno != ENOBUFS) perror("neighbours"), exit(1);
      static char answers[1 << 16];
      while (recv(fd, answers, sizeof answers, MSG_DONTWAIT) > 0) {}
    }
    if (round == 0) printf("%u\n", count), fflush(stdout);
  }
}

/* Sends to each address of 10.96.0.0/16 in a loop, so that the kernel sends an ARP request for each. */
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

static char bytes[100000];

/* Fills a netlink socket with error acknowledgements. Each contains the refused message. */
static int netlink(void) {
  int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
  *(struct nlmsghdr *)bytes = (struct nlmsghdr){.nlmsg_len = 32 << 10, .nlmsg_type = RTM_NEWNEIGH, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK};
  for (int i = 0; fd >= 0 && i < 16; i++) (void)!send(fd, bytes, 32 << 10, 0);
  return fd;
}

/* The same with the largest buffer that the kernel allows. */
static int large_netlink(void) {
  int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), size = 64 << 20;
  if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size) < 0) perror("large-netlink"), exit(1);
  *(struct nlmsghdr *)bytes = (struct nlmsghdr){.nlmsg_len = sizeof bytes, .nlmsg_type = RTM_NEWNEIGH, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK};
  for (int i = 0; fd >= 0 && i < 1000; i++) (void)!send(fd, bytes, sizeof bytes, 0);
  return fd;
}

/* Fills a socket nearly, then sends it one message of the maximum size. */
static int message(void) {
  static char large[4 << 20];
  static int from = -1;
  struct sockaddr_nl to = {.nl_family = AF_NETLINK};
  socklen_t length = sizeof to;
  int fd, size = 2 << 20;
  if (from < 0) from = socket(AF_NETLINK, SOCK_RAW, NETLINK_USERSOCK), setsockopt(from, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_USERSOCK);
  if (fd < 0 || bind(fd, (struct sockaddr *)&to, length) < 0 || getsockname(fd, (struct sockaddr *)&to, &length) < 0) return -1;
  (void)!sendto(from, large, 100000, MSG_DONTWAIT, (struct sockaddr *)&to, length);
  for (size_t bytes = sizeof large - 1024; bytes > 1024 && sendto(from, large, bytes, MSG_DONTWAIT, (struct sockaddr *)&to, length) < 0; bytes -= bytes / 8) {}
  return fd;
}

/* Fills a packet socket with packets of the loopback interface. Each socket has its own protocol, so that no two share packets. */
static int packet(void) {
  static unsigned short protocol = 0x9000;
  int fd = socket(AF_PACKET, SOCK_RAW, htons(++protocol));
  struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_protocol = htons(protocol), .sll_ifindex = (int)if_nametoindex("lo"), .sll_halen = 6};
  static int from = -1;
  if (from < 0) from = socket(AF_PACKET, SOCK_DGRAM, 0);
  for (int i = 0; fd >= 0 && i < 16; i++) (void)!sendto(from, bytes, 32 << 10, MSG_DONTWAIT, (struct sockaddr *)&to, sizeof to);
  return fd;
}

/* Fills a socket with datagrams that it sends to itself. */
static int to_itself(int type, int protocol) {
  static unsigned host = 127u << 24;
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(++host)};
  socklen_t length = sizeof to;
  int fd = socket(AF_INET, type, protocol);
  if (fd < 0 || bind(fd, (struct sockaddr *)&to, length) < 0 || getsockname(fd, (struct sockaddr *)&to, &length) < 0) return -1;
  for (int i = 0; i < 16; i++) (void)!sendto(fd, bytes, 32 << 10, MSG_DONTWAIT, (struct sockaddr *)&to, length);
  return fd;
}

static int raw(void) { return to_itself(SOCK_RAW, 200); }

static int udp(void) { return to_itself(SOCK_DGRAM, 0); }

/* Fills a connection in both directions. */
static int fill(int a, int b) {
  while (send(a, bytes, sizeof bytes, MSG_DONTWAIT) > 0) {}
  while (send(b, bytes, sizeof bytes, MSG_DONTWAIT) > 0) {}
  return 0;
}

static int tcp(void) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof to;
  int door = socket(AF_INET, SOCK_STREAM, 0), a = socket(AF_INET, SOCK_STREAM, 0);
  if (a < 0 || bind(door, (struct sockaddr *)&to, length) < 0 || listen(door, 1) < 0) return -1;
  if (getsockname(door, (struct sockaddr *)&to, &length) < 0 || connect(a, (struct sockaddr *)&to, length) < 0) return -1;
  int b = accept(door, NULL, NULL);
  close(door);
  return b < 0 ? -1 : fill(a, b);
}

static int unix_pair(void) {
  int pair[2];
  return socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 ? -1 : fill(pair[0], pair[1]);
}

/* Sends descriptors that nobody receives: the kernel counts them for the user, whom all nodes of a lab share. */
static int in_flight(void) {
  enum { COUNT = 250 };
  static union { struct cmsghdr header; char room[CMSG_SPACE(sizeof(int[COUNT]))]; } extra;
  int pair[2];
  struct iovec body = {bytes, 1};
  struct msghdr message = {.msg_iov = &body, .msg_iovlen = 1, .msg_control = &extra, .msg_controllen = sizeof extra};
  extra.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int[COUNT]))};
  return socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 ? -1 : (int)sendmsg(pair[0], &message, MSG_DONTWAIT);
}

/* Leaves a net namespace open. */
static int namespace(void) { return unshare(CLONE_NEWNET) < 0 ? -1 : open("/proc/self/ns/net", O_RDONLY); }

int main(int argc, char **argv) {
  static const struct { const char *name; int (*take)(void); int most; } tables[] = {
    {"inotify", inotify_init, MAX_OBJECTS}, {"rings", ring, 16}, {"small-rings", small_ring, MAX_OBJECTS}, {"aio", aio, MAX_OBJECTS}, {"netlink", netlink, MAX_OBJECTS}, {"messages", message, MAX_OBJECTS},
    {"large-netlink", large_netlink, 64}, {"packet", packet, MAX_OBJECTS}, {"raw", raw, MAX_OBJECTS}, {"udp", udp, MAX_OBJECTS}, {"tcp", tcp, 400}, {"unix", unix_pair, 1000}, {"in-flight", in_flight, 2400}, {"namespaces", namespace, 1000},
  };
  const char *name = argc > 1 ? argv[1] : "";
  struct rlimit files = {MAX_OBJECTS + 100, MAX_OBJECTS + 100};
  setrlimit(RLIMIT_NOFILE, &files);
  int taken = 0;
  if (!strcmp(name, "neighbours") && argc > 2) neighbours((unsigned)atoi(argv[2]));
  if (!strcmp(name, "scan")) scan();
  if (!strcmp(name, "terminals"))
    while (taken < MAX_OBJECTS && open("/dev/ptmx", O_RDWR | O_NOCTTY) >= 0) taken++;
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    if (!strcmp(name, tables[i].name))
      while (taken < tables[i].most && tables[i].take() >= 0) taken++;
  printf("%d %s\n", taken, strerror(errno));
  fflush(stdout);
  pause();
  return 0;
}
