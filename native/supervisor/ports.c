/*
 * Interfaces. eth<i> in this net namespace is the node's end of a pair whose other end is a port of the lab's fabric. Each is joined with a tap
 * tap<i>, frame for frame, and the tap is the guest's interface. The guest's interface gets the carrier of the pair.
 */
#include "../common/guest.h"
#include "../common/netlink.h"
#include "vm.h"
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum { PRIVATE_LINK = MAX_PORTS /* the tap of a node with a kernel of its own */, MAX_MTU = 65521, CARRIER = 1 << 16 /* IFF_LOWER_UP, which linux/if.h and net/if.h quarrel about */ };

static struct port { int tap; bool exists, carrier, plugged, released, joined; unsigned mtu; unsigned char mac[6]; char addresses[96]; } ports[MAX_PORTS];
static int private_tap;
static const struct config *attached, *settings;
int link_fd = -1;

static void device_up(const char *name, int mtu) {
  struct ifreq r = {0};
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  snprintf(r.ifr_name, sizeof r.ifr_name, "%s", name);
  r.ifr_mtu = mtu;
  if (fd < 0 || ioctl(fd, SIOCSIFMTU, &r) < 0 || ioctl(fd, SIOCGIFFLAGS, &r) < 0) fail("%s: %s", name, strerror(errno));
  r.ifr_flags |= IFF_UP;
  if (ioctl(fd, SIOCSIFFLAGS, &r) < 0) fail("%s: %s", name, strerror(errno));
  close(fd);
}

static int tap_open(int index) {
  struct ifreq r = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};
  int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
  snprintf(r.ifr_name, sizeof r.ifr_name, "tap%d", index);
  if (fd < 0 || ioctl(fd, TUNSETIFF, &r) < 0) fail("tap%d: %s", index, strerror(errno));
  device_up(r.ifr_name, MAX_MTU);
  return fd;
}

/* The index of the interface in the management network, after those of links; -1 if the guest can have none. */
static int management_port(void) {
  if (settings->own_kernel) return settings->guest_links;
  return settings->management ? MAX_PORTS - 1 : -1;
}

static int all_guest_ports(void) { return settings->guest_links + 1; }

static const char *port_name(int index) {
  static char name[16];
  if (index == management_port()) return MANAGEMENT_NAME;
  snprintf(name, sizeof name, "eth%d", index);
  return name;
}

/* Returns the index of the interface with this name, -1 if it is none of the guest's. */
static int port_of(const char *name) {
  char *end;
  if (!strcmp(name, MANAGEMENT_NAME)) return management_port();
  if (strncmp(name, "eth", 3) != 0) return -1;
  long index = strtol(name + 3, &end, 10);
  return *end || end == name + 3 || index < 0 || index >= MAX_PORTS || index == management_port() ? -1 : (int)index;
}

/* Sends every frame that arrives at one interface out of the other. Uses a u32 filter that matches everything: unlike matchall, every kernel with tc has u32. */
static bool join(int index, bool new_tap) {
  static const char filter[] = "filter replace dev %s ingress protocol all prio 1 handle 800::800 u32 match u32 0 0 action mirred egress redirect dev %s\n";
  char text[1024], tap[16];
  const char *port = port_name(index);
  snprintf(tap, sizeof tap, "tap%d", index);
  int n = snprintf(text, sizeof text, "qdisc replace dev %s clsact\n", port);
  if (new_tap) n += snprintf(text + n, sizeof text - (size_t)n, "qdisc replace dev %s clsact\n", tap);
  n += snprintf(text + n, sizeof text - (size_t)n, filter, port, tap);
  snprintf(text + n, sizeof text - (size_t)n, filter, tap, port);
  char *const argv[] = {"/usr/sbin/tc", "-batch", "-", NULL};
  return run(argv, text, true) == 0;
}

static void nic_words(const struct config *c, int index, char *text, size_t size, const char *format) {
  const unsigned char *m = ports[index].mac;
  char mac[24], place[16];
  if (index == management_port()) snprintf(place, sizeof place, "%s", c->management);
  else snprintf(place, sizeof place, "0x%x", FIRST_SLOT + index);
  snprintf(mac, sizeof mac, "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5]);
  snprintf(text, size, format, c->nic, index, index, mac, c->bus, place);
}

static void interface_problem(const char *what, int index) { dprintf(2, "labwright: interface %d: %s: %s\r\n", index, what, qmp_problem); }

static void plug(int index) {
  char words[512];
  struct port *p = &ports[index];
  nic_words(attached, index, words, sizeof words,
            "\"driver\":\"%s\",\"netdev\":\"net%d\",\"id\":\"nic%d\",\"mac\":\"%s\",\"bus\":\"%s\",\"addr\":\"%s\",\"romfile\":\"\"");
  if (!qmp(p->tap, "{\"execute\":\"getfd\",\"arguments\":{\"fdname\":\"tap%d\"}}", index) ||
      !qmp(-1, "{\"execute\":\"netdev_add\",\"arguments\":{\"type\":\"tap\",\"id\":\"net%d\",\"fd\":\"tap%d\"}}", index, index))
    return interface_problem("it could not be added", index);
  p->plugged = qmp(-1, "{\"execute\":\"device_add\",\"arguments\":{%s}}", words);
  if (!p->plugged) {
    interface_problem("it could not be plugged in", index);
    qmp(-1, "{\"execute\":\"netdev_del\",\"arguments\":{\"id\":\"net%d\"}}", index);
  }
}

static void set_carrier(int index) {
  const struct port *p = &ports[index];
  if (attached && p->plugged && !qmp(-1, "{\"execute\":\"set_link\",\"arguments\":{\"name\":\"nic%d\",\"up\":%s}}", index, p->carrier ? "true" : "false"))
    interface_problem("its carrier could not be set", index);
}

static void serve_address(void) {
  char tap[16];
  const int index = management_port();
  snprintf(tap, sizeof tap, "tap%d", index);
  dhcp_serve(tap, ports[index].mac, ports[index].addresses);
}

static void interface_added(int index, bool carrier, unsigned mtu, const unsigned char *mac, const char *addresses) {
  struct port *p = &ports[index];
  bool fresh = !p->exists, moved = strcmp(p->addresses, addresses) != 0;
  if (settings->own_kernel && index >= all_guest_ports()) {
    if (fresh) dprintf(2, "labwright: interface %d: a node with a kernel of its own has at most %d\r\n", index, settings->guest_links);
    return;
  }
  if (fresh) {
    const bool had = p->tap > 0, was_joined = p->joined;
    memcpy(p->mac, mac, sizeof p->mac);
    p->mtu = mtu;
    if (!had) p->tap = tap_open(index);
    if (!join(index, !was_joined)) {
      if (!attached) fail("interface %d could not be joined", index);
      /* The interface was probably removed, which must not end the guest. If it still exists, the failure is reported, and its next change tries again. */
      if (if_nametoindex(port_name(index)) != 0) dprintf(2, "labwright: interface %d could not be joined\r\n", index);
      if (!had) close(p->tap), p->tap = 0;
      return;
    }
    p->exists = p->joined = true;
    if (attached && !p->plugged) plug(index);
  }
  snprintf(p->addresses, sizeof p->addresses, "%s", addresses);
  if ((fresh || moved) && settings->own_kernel) guest_link(index, port_name(index), mac, mtu, addresses);
  if ((fresh || moved) && !settings->own_kernel && index == management_port()) serve_address();
  if (!fresh && p->carrier == carrier) return;
  p->carrier = carrier;
  set_carrier(index);
}

static void interface_removed(int index) {
  struct port *p = &ports[index];
  if (!p->exists) return;
  p->exists = p->carrier = false;
  set_carrier(index);
  if (settings->own_kernel) return guest_unlink(index);
  if (index == management_port()) dhcp_end();
  if (!attached || !p->plugged) return;
  if (!qmp(-1, "{\"execute\":\"device_del\",\"arguments\":{\"id\":\"nic%d\"}}", index)) interface_problem("it cannot be unplugged", index);
}

/* The guest let go of it. */
void port_unplugged(const char *device) {
  char *end;
  if (strncmp(device, "nic", 3) != 0) return;
  long index = strtol(device + 3, &end, 10);
  if (*end || index < 0 || index >= MAX_PORTS) return;
  ports[index].released = true;
}

/* Called in the loop when no other command is in progress. */
void ports_settle(void) {
  for (int i = 0; i < MAX_PORTS; i++) {
    struct port *p = &ports[i];
    if (!p->released) continue;
    p->released = p->plugged = false;
    qmp(-1, "{\"execute\":\"netdev_del\",\"arguments\":{\"id\":\"net%d\"}}", i);
    if (p->exists) {
      plug(i);
      set_carrier(i);
      continue;
    }
    close(p->tap);
    p->tap = 0;
    p->joined = false;
  }
}

static void link_message(const struct nlmsghdr *m) {
  const struct ifinfomsg *info = NLMSG_DATA(m);
  const char *name = NULL, *alias = "";
  const unsigned char *mac = NULL;
  unsigned mtu = 1500;
  int left = (int)IFLA_PAYLOAD(m);
  for (const struct rtattr *a = IFLA_RTA(info); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
    if (a->rta_type == IFLA_IFNAME) name = RTA_DATA(a);
    if (a->rta_type == IFLA_IFALIAS) alias = RTA_DATA(a); /* the addresses in the management network, from the service */
    if (a->rta_type == IFLA_ADDRESS && RTA_PAYLOAD(a) == 6) mac = RTA_DATA(a);
    if (a->rta_type == IFLA_MTU) memcpy(&mtu, RTA_DATA(a), sizeof mtu);
  }
  const int index = name && mac ? port_of(name) : -1;
  if (index < 0) return;
  if (m->nlmsg_type == RTM_DELLINK) interface_removed(index);
  else interface_added(index, (info->ifi_flags & CARRIER) != 0, mtu, mac, index == management_port() ? alias : "");
}

static bool ask_for_all(void) { return netlink_dump(link_fd, RTM_GETLINK, &(struct ifinfomsg){0}, sizeof(struct ifinfomsg)); }

/* Returns false if there are no more messages now. */
static bool receive(int flags, bool *done) {
  static char bytes[65536];
  ssize_t got = recv(link_fd, bytes, sizeof bytes, flags);
  if (got < 0 && errno == ENOBUFS) return ask_for_all(); /* messages were lost: read all interfaces again */
  if (got <= 0) return false;
  size_t left = (size_t)got;
  for (struct nlmsghdr *m = (void *)bytes; NLMSG_OK(m, left); m = NLMSG_NEXT(m, left)) {
    if (m->nlmsg_type == NLMSG_DONE) *done = true;
    if (m->nlmsg_type == RTM_NEWLINK || m->nlmsg_type == RTM_DELLINK) link_message(m);
  }
  return true;
}

/* The guest has all of its interfaces from the start: those that the node does not have are hidden by its init. */
static void open_spares(void) {
  for (int i = 0; i < all_guest_ports(); i++)
    if (!ports[i].tap) ports[i].tap = tap_open(i);
  private_tap = tap_open(PRIVATE_LINK);
  char name[16];
  snprintf(name, sizeof name, "tap%d", PRIVATE_LINK);
  guest_open(name);
}

void ports_open(const struct config *c) {
  settings = c;
  struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
  link_fd = netlink_open(NETLINK_ROUTE);
  if (link_fd < 0 || bind(link_fd, (struct sockaddr *)&address, sizeof address) < 0 || !ask_for_all()) fail("interfaces: %s", strerror(errno));
  for (bool done = false; !done && receive(0, &done);) {}
  if (c->own_kernel) open_spares();
}

void ports_report(void) {
  for (int i = 0; i < all_guest_ports(); i++)
    if (ports[i].exists) guest_link(i, port_name(i), ports[i].mac, ports[i].mtu, ports[i].addresses);
}

static void guest_nic(struct config *c, int tap, int index, int last_byte) {
  config_arg(c, "-netdev");
  config_arg(c, "tap,id=net%d,fd=%d", index, tap);
  config_arg(c, "-device");
  /* LACP of the guest's kernel sends nothing on an interface of unknown speed. */
  config_arg(c, "virtio-net-device,netdev=net%d,id=nic%d,speed=10000,duplex=full,mac=52:4c:57:00:00:%02x", index, index, (unsigned)last_byte);
}

static void guest_arguments(struct config *c, int *keep, size_t *keep_count) {
  for (int i = 0; i < all_guest_ports(); i++) {
    guest_nic(c, ports[i].tap, i, i);
    keep[(*keep_count)++] = ports[i].tap;
    ports[i].plugged = true;
  }
  guest_nic(c, private_tap, PRIVATE_LINK, GUEST_LINK);
  keep[(*keep_count)++] = private_tap;
}

void ports_arguments(struct config *c, int *keep, size_t *keep_count) {
  char words[512];
  if (c->own_kernel) return guest_arguments(c, keep, keep_count);
  for (int i = 0; i < MAX_PORTS; i++) {
    struct port *p = &ports[i];
    if (!p->exists) continue;
    config_arg(c, "-netdev");
    config_arg(c, "tap,id=net%d,fd=%d", i, p->tap);
    nic_words(c, i, words, sizeof words, "%s,netdev=net%d,id=nic%d,mac=%s,bus=%s,addr=%s,romfile=");
    config_arg(c, "-device");
    if (!strcmp(c->nic, "virtio-net-pci") && p->mtu != 1500) config_arg(c, "%s,host_mtu=%u", words, p->mtu);
    else config_arg(c, "%s", words);
    keep[(*keep_count)++] = p->tap;
    p->plugged = true;
  }
}

void ports_attach(const struct config *c) {
  attached = c;
  for (int i = 0; i < MAX_PORTS; i++) set_carrier(i);
}

void ports_events(void) {
  bool done = false;
  while (receive(MSG_DONTWAIT, &done)) {}
}
