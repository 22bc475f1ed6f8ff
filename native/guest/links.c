/* Interfaces. The kernel's names follow the order in which it finds the devices; their permanent hardware addresses have the numbers. */
#include "guest.h"
#include "../common/netlink.h"
#include <arpa/inet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* A busy machine may need longer than the first time for the answer. */
enum { FIRST_CONNECT_MS = 50, MOST_CONNECT_MS = 3200, CONNECT_PAUSE_MS = 10 };

static int node_ns, private_ns;

static void enter(int ns) {
  if (setns(ns, CLONE_NEWNET) < 0) fail("net namespace: %s", strerror(errno));
}

static int this_ns(void) {
  int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail("net namespace: %s", strerror(errno));
  return fd;
}

/* An interface of this net namespace: its number by its permanent address, -1 for others. */
struct found { int number, index; char name[IFNAMSIZ]; };

static struct found read_link(const struct nlmsghdr *m) {
  const struct ifinfomsg *info = NLMSG_DATA(m);
  struct found f = {.number = -1, .index = info->ifi_index};
  int left = (int)IFLA_PAYLOAD(m);
  for (const struct rtattr *a = IFLA_RTA(info); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
    if (a->rta_type == IFLA_IFNAME) snprintf(f.name, sizeof f.name, "%s", (const char *)RTA_DATA(a));
    if (a->rta_type != IFLA_PERM_ADDRESS || RTA_PAYLOAD(a) != 6) continue;
    const unsigned char *mac = RTA_DATA(a);
    if (!memcmp(mac, GUEST_MAC, 5)) f.number = mac[5];
  }
  return f;
}

/* Stores the interfaces of this net namespace. Returns how many there are. */
static size_t all_links(struct found *found, size_t room) {
  static char bytes[65536];
  size_t count = 0;
  int fd = netlink_open(NETLINK_ROUTE);
  if (fd < 0 || !netlink_dump(fd, RTM_GETLINK, &(struct ifinfomsg){0}, sizeof(struct ifinfomsg))) fail("interfaces: %s", strerror(errno));
  for (bool done = false; !done;) {
    ssize_t got = recv(fd, bytes, sizeof bytes, 0);
    if (got <= 0) break;
    size_t left = (size_t)got;
    for (struct nlmsghdr *m = (void *)bytes; NLMSG_OK(m, left); m = NLMSG_NEXT(m, left)) {
      if (m->nlmsg_type == NLMSG_DONE || m->nlmsg_type == NLMSG_ERROR) done = true;
      if (m->nlmsg_type != RTM_NEWLINK) continue;
      struct found f = read_link(m);
      if (f.number >= 0 && count < room) found[count++] = f;
    }
  }
  close(fd);
  return count;
}

static bool find(int number, struct found *found) {
  struct found all[64];
  size_t count = all_links(all, ARRAY(all));
  for (size_t i = 0; i < count; i++)
    if (all[i].number == number) return *found = all[i], true;
  return false;
}

/* Sends one change of an interface. Returns 0 or the error. */
static int change(struct netlink_request *r) {
  int fd = netlink_open(NETLINK_ROUTE);
  int problem = fd < 0 ? errno : netlink_do(fd, r);
  if (fd >= 0) close(fd);
  return problem;
}

static void begin(struct netlink_request *r, int index, unsigned flags, unsigned mask) {
  netlink_begin(r, RTM_NEWLINK, 0, &(struct ifinfomsg){.ifi_index = index, .ifi_flags = flags, .ifi_change = mask}, sizeof(struct ifinfomsg));
}

/* Moves the interface to the other net namespace, where it gets the name. */
static int move(int index, int ns, const char *name) {
  struct netlink_request r;
  begin(&r, index, 0, IFF_UP);
  netlink_put(&r, IFLA_NET_NS_FD, &ns, sizeof ns);
  netlink_put(&r, IFLA_IFNAME, name, strlen(name) + 1);
  return change(&r);
}

static void private_up(void) {
  struct ifreq r = {0};
  struct found link;
  if (!find(GUEST_LINK, &link)) fail("the private link is missing");
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  snprintf(r.ifr_name, sizeof r.ifr_name, "%s", link.name);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(GUEST_ADDRESS)};
  memcpy(&r.ifr_addr, &address, sizeof address);
  bool done = ioctl(fd, SIOCSIFADDR, &r) == 0;
  address.sin_addr.s_addr = htonl(~0u << (32 - GUEST_PREFIX));
  memcpy(&r.ifr_netmask, &address, sizeof address);
  done = done && ioctl(fd, SIOCSIFNETMASK, &r) == 0;
  r.ifr_flags = IFF_UP | IFF_RUNNING;
  if (!done || ioctl(fd, SIOCSIFFLAGS, &r) < 0) fail("the private link: %s", strerror(errno));
  close(fd);
}

void links_open(void) {
  struct found all[64];
  struct ifreq loopback = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &loopback) < 0) fail("lo: %s", strerror(errno));
  close(fd);
  node_ns = this_ns();
  if (unshare(CLONE_NEWNET) < 0) fail("net namespace: %s", strerror(errno));
  private_ns = this_ns();
  enter(node_ns);
  size_t count = all_links(all, ARRAY(all));
  for (size_t i = 0; i < count; i++) {
    char name[IFNAMSIZ];
    snprintf(name, sizeof name, "link%d", all[i].number);
    int problem = move(all[i].index, private_ns, name);
    if (problem) fail("interface %d: %s", all[i].number, strerror(problem));
  }
  enter(private_ns);
  private_up();
  enter(node_ns);
}

/* Returns a TCP socket of the private link: a socket stays in the net namespace in which it was made. */
static int private_socket(int flags) {
  enter(private_ns);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
  enter(node_ns);
  if (fd < 0) fail("socket: %s", strerror(errno));
  return fd;
}

int private_listen(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(GUEST_PORT), .sin_addr.s_addr = htonl(GUEST_ADDRESS)};
  int fd = private_socket(SOCK_NONBLOCK);
  if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 64) < 0) fail("listening: %s", strerror(errno));
  return fd;
}

/* Connects within the time. A segment that was on its way when a snapshot was taken is lost, and TCP would repeat it after a second only. */
static bool connects(int fd, int ms) {
  const struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(GUEST_PORT), .sin_addr.s_addr = htonl(HOST_ADDRESS)};
  struct pollfd writable = {.fd = fd, .events = POLLOUT};
  int problem = 0;
  if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0) return true;
  if (errno != EINPROGRESS || poll(&writable, 1, ms) <= 0) return false;
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &(socklen_t){sizeof problem}) == 0 && problem == 0;
}

int private_connect(void) {
  for (int ms = FIRST_CONNECT_MS;; ms = ms < MOST_CONNECT_MS ? 2 * ms : ms) {
    int fd = private_socket(SOCK_NONBLOCK);
    if (connects(fd, ms)) return fcntl(fd, F_SETFL, 0), fd;
    close(fd);
    usleep(CONNECT_PAUSE_MS * 1000);
  }
}

/* Adds or removes an address, such as 198.18.0.2/24. */
static int address_change(int index, const char *text, bool add) {
  char address[INET6_ADDRSTRLEN] = "";
  unsigned length;
  unsigned char bytes[16];
  struct netlink_request r;
  if (sscanf(text, "%45[^/]/%u", address, &length) != 2) return EINVAL;
  const int family = strchr(address, ':') ? AF_INET6 : AF_INET;
  const size_t size = family == AF_INET ? 4 : 16;
  if (inet_pton(family, address, bytes) != 1 || length > 8 * size) return EINVAL;
  /* No other node has the address, so that it need not be tried first. */
  const struct ifaddrmsg head = {
    .ifa_family = (unsigned char)family, .ifa_prefixlen = (unsigned char)length, .ifa_index = (unsigned)index, .ifa_flags = family == AF_INET6 ? IFA_F_NODAD : 0};
  netlink_begin(&r, add ? RTM_NEWADDR : RTM_DELADDR, add ? NLM_F_CREATE | NLM_F_REPLACE : 0, &head, sizeof head);
  netlink_put(&r, IFA_LOCAL, bytes, size);
  netlink_put(&r, IFA_ADDRESS, bytes, size);
  return change(&r);
}

/* Gives the management interface these addresses, separated by blanks, instead of those that it got before. */
static void set_addresses(int index, const char *text) {
  static char now[96];
  char next[sizeof now];
  snprintf(next, sizeof next, "%s", text);
  for (char *rest = now, *one; (one = strsep(&rest, " "));)
    if (*one && !strstr(next, one)) address_change(index, one, false); /* the interface or its address may be gone */
  snprintf(now, sizeof now, "%s", text);
  for (char *rest = next, *one; (one = strsep(&rest, " "));) {
    int problem = *one ? address_change(index, one, true) : 0;
    if (problem) dprintf(2, "labwright: address %s: %s\n", one, strerror(problem));
  }
}

void link_added(const char *text) {
  int number, at = 0;
  unsigned mtu, m[6];
  struct found link;
  char name[IFNAMSIZ];
  if (sscanf(text, "%d %x:%x:%x:%x:%x:%x %u %15s %n", &number, &m[0], &m[1], &m[2], &m[3], &m[4], &m[5], &mtu, name, &at) != 9) return;
  enter(private_ns);
  int problem = 0;
  if (find(number, &link)) {
    const unsigned char mac[6] = {(unsigned char)m[0], (unsigned char)m[1], (unsigned char)m[2], (unsigned char)m[3], (unsigned char)m[4], (unsigned char)m[5]};
    struct netlink_request r;
    begin(&r, link.index, 0, 0);
    netlink_put(&r, IFLA_ADDRESS, mac, sizeof mac);
    netlink_put(&r, IFLA_MTU, &mtu, sizeof mtu);
    problem = change(&r);
    if (!problem) problem = move(link.index, node_ns, name);
  }
  enter(node_ns);
  if (problem) dprintf(2, "labwright: interface %d: %s\n", number, strerror(problem));
  if (problem || !find(number, &link)) return;
  /* As on other nodes, interfaces are up from the start. */
  struct netlink_request up;
  begin(&up, link.index, IFF_UP, IFF_UP);
  change(&up);
  if (at > 0) set_addresses(link.index, text + at);
}

void link_removed(const char *text) {
  int number = atoi(text);
  struct found link;
  char name[IFNAMSIZ];
  snprintf(name, sizeof name, "link%d", number);
  if (find(number, &link) && move(link.index, private_ns, name) != 0) dprintf(2, "labwright: interface %d could not be removed\n", number);
}
