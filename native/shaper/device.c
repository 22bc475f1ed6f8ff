/* Devices: a ring of received frames, and a socket that sends frames. */
#include "../common/netlink.h"
#include "shaper.h"
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <arpa/inet.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

enum { REMOVAL_GROUP = 67 /* a number that nothing else in a fabric uses */ };

static const int one = 1;

static const char *end_ring(struct end *e, int mtu, bool many) {
  int version = TPACKET_V2;
  if (setsockopt(e->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version) < 0) return "packet ring version";
  size_t frame = TPACKET_ALIGN(TPACKET2_HDRLEN + 16 + ETH_HLEN + 4 + (size_t)mtu);
  e->slot = 2048;
  while (e->slot < frame) e->slot *= 2;
  struct tpacket_req request = {.tp_frame_size = (unsigned)e->slot, .tp_frame_nr = many ? 128 : 1024};
  request.tp_block_size = e->slot > 65536 ? (unsigned)e->slot : 65536;
  request.tp_block_nr = request.tp_frame_nr / (request.tp_block_size / request.tp_frame_size);
  if (setsockopt(e->fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof request) < 0) return "packet ring";
  e->slots = request.tp_frame_nr;
  e->bytes = (size_t)request.tp_block_size * request.tp_block_nr;
  return NULL;
}

const char *end_map(struct end *e) {
  void *ring = mmap(NULL, e->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, e->fd, 0);
  if (ring == MAP_FAILED) return "mmap of the packet ring";
  e->ring = ring;
  e->next = 0;
  return NULL;
}

/*
 * Opens the end, all except the mapping. Takes some 10 ms, while the kernel waits for its readers, so a process that passes frames must not call it.
 * @name the shaper's end of a veth pair, p<id><side>. At the other end, q<id><side>, the kernel is set to compute checksums and to cut packets that are
 * larger than a frame (the pair was made with gso_max_segs 1). So the shaper receives frames as a wire has them.
 */
const char *end_open(struct end *e, const char *name, int mtu, bool many) {
  char outer[IFNAMSIZ];
  snprintf(outer, sizeof outer, "q%s", name + 1);
  *e = (struct end){.fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (e->fd < 0) return "packet socket";
  const char *problem = NULL;
  struct ethtool_value off = {.cmd = ETHTOOL_STXCSUM, .data = 0};
  struct ifreq r = {.ifr_data = (void *)&off};
  memcpy(r.ifr_name, outer, sizeof outer);
  e->index = (int)if_nametoindex(name);
  if (!e->index) problem = "Cannot find device", errno = ENODEV;
  else if (ioctl(e->fd, SIOCETHTOOL, &r) < 0) problem = "checksums";
  else problem = end_ring(e, mtu, many);
  struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = e->index};
  if (!problem && setsockopt(e->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one) < 0) problem = "ignoring own frames";
  if (!problem && setsockopt(e->fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof one) < 0) problem = "qdisc bypass";
  if (!problem && bind(e->fd, (struct sockaddr *)&at, sizeof at) < 0) problem = "bind to device";
  if (!problem) return NULL;
  int why = errno;
  end_close(e);
  errno = why;
  return problem;
}

void end_close(struct end *e) {
  if (e->ring) munmap(e->ring, e->bytes);
  if (e->fd >= 0) close(e->fd);
  *e = (struct end){.fd = -1};
}

/* Since it was last asked. */
uint64_t end_missed(struct end *e) {
  struct tpacket_stats stats = {0};
  socklen_t size = sizeof stats;
  return getsockopt(e->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &size) < 0 ? 0 : stats.tp_drops;
}

int device_index(const char *name) {
  return (int)if_nametoindex(name);
}

int group_request(int fd, unsigned short type, int index, unsigned flags, uint32_t group) {
  struct netlink_request r;
  struct ifinfomsg link = {.ifi_index = index, .ifi_change = flags, .ifi_flags = flags};
  netlink_begin(&r, type, 0, &link, sizeof link);
  netlink_put(&r, IFLA_GROUP, &group, sizeof group);
  return netlink_do(fd, &r);
}

/*
 * Removes the pairs of these links. A missing pair is not an error. Removes them as a group, because the kernel waits for its readers (RCU) once for
 * each removal.
 */
void devices_delete(const struct shaped_link *first, size_t count) {
  int fd = netlink_open(NETLINK_ROUTE);
  if (fd < 0) return;
  for (const struct shaped_link *c = first; c && count; c = c->next, count--) {
    for (int i = 0; i < 2; i++) {
      char name[16];
      snprintf(name, sizeof name, "q%ld%c", c->id, "ab"[i]);
      int index = device_index(name);
      if (index) group_request(fd, RTM_NEWLINK, index, 0, REMOVAL_GROUP);
    }
  }
  group_request(fd, RTM_DELLINK, 0, 0, REMOVAL_GROUP);
  close(fd);
}
