#include "netlink.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

int netlink_open(int protocol) { return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol); }

void netlink_begin(struct netlink_request *r, uint16_t type, uint16_t flags, const void *fixed, size_t length) {
  *r = (struct netlink_request){.header = {.nlmsg_type = type, .nlmsg_flags = NLM_F_REQUEST | flags}};
  r->full = length > sizeof r->rest;
  if (r->full) return;
  memcpy(r->rest, fixed, length);
  r->header.nlmsg_len = (uint32_t)NLMSG_LENGTH(length);
}

size_t netlink_put(struct netlink_request *r, uint16_t type, const void *data, size_t length) {
  size_t at = NLMSG_ALIGN(r->header.nlmsg_len), most = sizeof r->header + sizeof r->rest;
  if (r->full || length > most || at + RTA_SPACE(length) > most) return r->full = true, 0;
  struct rtattr attribute = {.rta_type = type, .rta_len = (unsigned short)RTA_LENGTH(length)};
  char *place = r->rest + (at - sizeof r->header);
  memcpy(place, &attribute, sizeof attribute);
  if (length) memcpy(place + RTA_LENGTH(0), data, length);
  r->header.nlmsg_len = (uint32_t)(at + RTA_SPACE(length));
  return at;
}

void netlink_end_nest(struct netlink_request *r, size_t nest) {
  if (r->full) return;
  unsigned short length = (unsigned short)(r->header.nlmsg_len - nest);
  memcpy(r->rest + (nest - sizeof r->header) + offsetof(struct rtattr, rta_len), &length, sizeof length);
}

int netlink_do(int fd, struct netlink_request *r) {
  union { struct nlmsghdr header; char room[4096]; } answer;
  if (r->full) return EMSGSIZE;
  r->header.nlmsg_flags |= NLM_F_ACK;
  if (send(fd, r, r->header.nlmsg_len, 0) != (ssize_t)r->header.nlmsg_len) return errno;
  ssize_t got = recv(fd, &answer, sizeof answer, 0);
  if (got < (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr))) return got < 0 ? errno : EPROTO;
  return answer.header.nlmsg_type == NLMSG_ERROR ? -((const struct nlmsgerr *)NLMSG_DATA(&answer.header))->error : EPROTO;
}

bool netlink_dump(int fd, uint16_t type, const void *fixed, size_t length) {
  struct netlink_request r;
  netlink_begin(&r, type, NLM_F_DUMP, fixed, length);
  return send(fd, &r, r.header.nlmsg_len, 0) == (ssize_t)r.header.nlmsg_len;
}
