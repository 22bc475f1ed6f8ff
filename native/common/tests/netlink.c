/* Messages have the bytes that the kernel reads. A message that is too long is never sent. */
#include "../../fuzz/check.h"
#include "../netlink.h"
#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <unistd.h>

int main(void) {
  struct netlink_request r;
  struct ifinfomsg link = {.ifi_index = 7};
  netlink_begin(&r, RTM_NEWLINK, NLM_F_CREATE, &link, sizeof link);
  CHECK(r.header.nlmsg_len == NLMSG_LENGTH(sizeof link) && r.header.nlmsg_flags == (NLM_F_REQUEST | NLM_F_CREATE));
  size_t nest = netlink_put(&r, IFLA_LINKINFO, NULL, 0);
  netlink_put(&r, IFLA_INFO_KIND, "veth", 5);
  netlink_end_nest(&r, nest);
  uint32_t group = 9;
  netlink_put(&r, IFLA_GROUP, &group, sizeof group);

  int left = (int)IFLA_PAYLOAD(&r.header);
  struct rtattr *a = IFLA_RTA(NLMSG_DATA(&r.header));
  CHECK(RTA_OK(a, left) && a->rta_type == IFLA_LINKINFO && RTA_PAYLOAD(a) == RTA_SPACE(5));
  struct rtattr *kind = RTA_DATA(a);
  CHECK(kind->rta_type == IFLA_INFO_KIND && RTA_PAYLOAD(kind) == 5 && !strcmp(RTA_DATA(kind), "veth"));
  a = RTA_NEXT(a, left);
  CHECK(RTA_OK(a, left) && a->rta_type == IFLA_GROUP && RTA_PAYLOAD(a) == 4 && !memcmp(RTA_DATA(a), &group, 4));
  a = RTA_NEXT(a, left);
  CHECK(left == 0);

  char large[480] = {0};
  CHECK(netlink_put(&r, IFLA_IFALIAS, large, sizeof large) == 0 && r.full);
  int fd = netlink_open(NETLINK_ROUTE);
  CHECK(fd >= 0 && netlink_do(fd, &r) == EMSGSIZE);
  netlink_begin(&r, RTM_NEWLINK, 0, large, sizeof r.rest + 1);
  CHECK(r.full);

  /* A device that does not exist. */
  link.ifi_index = 0x7ffffff0;
  netlink_begin(&r, RTM_NEWLINK, 0, &link, sizeof link);
  CHECK(netlink_do(fd, &r) == ENODEV);
  CHECK(netlink_dump(fd, RTM_GETLINK, &(struct ifinfomsg){0}, sizeof(struct ifinfomsg)));
  close(fd);
  return 0;
}
