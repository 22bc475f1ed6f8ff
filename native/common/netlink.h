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
/* Starts a message with the fixed part that its type has. */
void netlink_begin(struct netlink_request *r, uint16_t type, uint16_t flags, const void *fixed, size_t length);
/* Adds an attribute; without data it is the start of a nest. Returns its offset. */
size_t netlink_put(struct netlink_request *r, uint16_t type, const void *data, size_t length);
/* Ends the nest that starts at the offset. */
void netlink_end_nest(struct netlink_request *r, size_t nest);
/* Sends the request and waits until the kernel has carried it out. Returns 0, or the error. */
int netlink_do(int fd, struct netlink_request *r);
/* Asks for all objects of a kind: the answers arrive at the socket. False, with errno, if it cannot be sent. */
bool netlink_dump(int fd, uint16_t type, const void *fixed, size_t length);
