/*
 * Prints the addresses of nodes, for the service: `labwright-holder addresses <pid>…` runs in the fabric, once for all nodes of a lab. One line for each
 * address: process, index, interface, address with prefix. Loopback addresses are left out. A process that has ended has no lines.
 */
#include "../common/netlink.h"
#include "addresses.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A node may give itself any number of addresses and interfaces. */
enum { MAX_OF_INTERFACE = 32, MAX_OF_NODE = 2048 };

/* Prints the address of the message. Returns the number of lines. */
static int print_address(const char *pid, const struct nlmsghdr *m) {
  const struct ifaddrmsg *info = NLMSG_DATA(m);
  const void *address = NULL, *local = NULL;
  size_t length = info->ifa_family == AF_INET ? 4 : info->ifa_family == AF_INET6 ? 16 : 0;
  int left = (int)IFA_PAYLOAD(m);
  for (const struct rtattr *a = IFA_RTA(info); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
    if (RTA_PAYLOAD(a) != length) continue;
    if (a->rta_type == IFA_ADDRESS) address = RTA_DATA(a);
    if (a->rta_type == IFA_LOCAL) local = RTA_DATA(a); /* of a pair of addresses, the interface's own */
  }
  char name[IF_NAMESIZE], text[INET6_ADDRSTRLEN];
  if (local) address = local;
  if (length == 0 || !address || info->ifa_scope == RT_SCOPE_HOST || !if_indextoname(info->ifa_index, name)) return 0;
  if (!inet_ntop(info->ifa_family, address, text, sizeof text)) return 0;
  printf("%s %s %s/%u\n", pid, name, text, info->ifa_prefixlen);
  return 1;
}

static void print_addresses(const char *pid) {
  static char bytes[32768];
  int fd = netlink_open(NETLINK_ROUTE), lines = 0, of_interface = 0;
  unsigned interface = 0; /* of the last address: the kernel sends the addresses of a family interface by interface */
  struct timeval patience = {.tv_sec = 2};
  if (fd < 0) return;
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  bool asked = netlink_dump(fd, RTM_GETADDR, &(struct ifaddrmsg){.ifa_family = AF_UNSPEC}, sizeof(struct ifaddrmsg));
  for (bool done = !asked; !done;) {
    ssize_t got = recv(fd, bytes, sizeof bytes, 0);
    if (got <= 0) break;
    size_t left = (size_t)got;
    for (struct nlmsghdr *m = (void *)bytes; NLMSG_OK(m, left); m = NLMSG_NEXT(m, left)) {
      if (m->nlmsg_type == NLMSG_DONE || m->nlmsg_type == NLMSG_ERROR || lines >= MAX_OF_NODE) done = true;
      if (done || m->nlmsg_type != RTM_NEWADDR) continue;
      const struct ifaddrmsg *info = NLMSG_DATA(m);
      if (info->ifa_index != interface) of_interface = 0;
      interface = info->ifa_index;
      if (of_interface++ < MAX_OF_INTERFACE) lines += print_address(pid, m);
    }
  }
  close(fd);
}

int addresses(int count, char **pids) {
  for (int i = 0; i < count; i++) {
    char path[64];
    if (strspn(pids[i], "0123456789") != strlen(pids[i]) || strlen(pids[i]) > 10) return 2;
    snprintf(path, sizeof path, "/proc/%s/ns/net", pids[i]);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue; /* the node has ended */
    int rc = setns(fd, CLONE_NEWNET);
    close(fd);
    if (rc < 0) {
      fprintf(stderr, "%s: %s\n", path, strerror(errno));
      return 1;
    }
    print_addresses(pids[i]);
  }
  return 0;
}
