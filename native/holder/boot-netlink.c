/* Asking the kernel, one request at a time. */
#include "boot.h"
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void request_init(struct request *r, uint16_t type, uint16_t flags, size_t body) {
  memset(r, 0, sizeof *r);
  r->header.nlmsg_len = (uint32_t)NLMSG_LENGTH(body);
  r->header.nlmsg_type = type;
  r->header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
}

void request_put(struct request *r, uint16_t type, const void *data, size_t length) {
  struct rtattr *a = (struct rtattr *)((char *)r + NLMSG_ALIGN(r->header.nlmsg_len));
  a->rta_type = type;
  a->rta_len = (unsigned short)RTA_LENGTH(length);
  memcpy(RTA_DATA(a), data, length);
  r->header.nlmsg_len = (uint32_t)(NLMSG_ALIGN(r->header.nlmsg_len) + RTA_ALIGN(a->rta_len));
}

static int fd = -1;

bool request_done(struct request *r) {
  if (fd < 0) fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0 || send(fd, r, r->header.nlmsg_len, 0) != (ssize_t)r->header.nlmsg_len) return false;
  struct { struct nlmsghdr header; struct nlmsgerr answer; char rest[512]; } told;
  ssize_t got = recv(fd, &told, sizeof told, 0);
  return got >= (ssize_t)NLMSG_LENGTH(sizeof told.answer) && told.header.nlmsg_type == NLMSG_ERROR && told.answer.error == 0;
}

void requests_end(void) {
  if (fd >= 0) close(fd);
  fd = -1;
}
