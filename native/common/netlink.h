/* Requests to the kernel over netlink. */
#pragma once
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One message. `full`: an attribute did not fit, and the request is refused. */
struct netlink_request { struct nlmsghdr header; char rest[496]; bool full; };

/* A socket of the protocol, or -1 with errno. */
int netlink_open(int protocol);
/* Starts a message. `fixed` is the header of this message type, such as struct ifinfomsg. */
void netlink_begin(struct netlink_request *r, uint16_t type, uint16_t flags, const void *fixed, size_t length);
/* Adds an attribute, or starts a nested one if there is no data. Returns its offset. */
size_t netlink_put(struct netlink_request *r, uint16_t type, const void *data, size_t length);
/* Ends the nested attribute that starts at the offset. */
void netlink_end_nest(struct netlink_request *r, size_t nest);
/* Sends the request and waits until the kernel has carried it out. Returns 0, or the error. */
int netlink_do(int fd, struct netlink_request *r);
/* Requests a dump of all objects of a type. The answers arrive at the socket. Returns false, with errno, if the request cannot be sent. */
bool netlink_dump(int fd, uint16_t type, const void *fixed, size_t length);
