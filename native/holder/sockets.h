/* Sockets whose queues the kernel counts for no memory control group: netlink, packet, raw IP and others. It counts those of TCP, UDP and UNIX. */
#pragma once
#include "lab.h"

enum {
  MAX_SOCKETS = 256,      /* maximum of these sockets in a node; routing daemons have one or two for each interface */
  RAISED_SOCKETS = 32,     /* a node may enlarge buffers only while it has at most this many of these sockets */
  RAISED_BUFFER = 1 << 20, /* maximum of SO_RCVBUF, bytes; the kernel uses twice as much */
  SENT_BUFFER = 212992,    /* maximum of SO_SNDBUF, bytes: it limits a message, and a queue may exceed its size by one message */
};

/* Checks whether the node may make another one. Returns 0, or -1 with errno. */
int socket_grant(const struct node *n);
/* setsockopt(SO_RCVBUF) and (SO_SNDBUF). Reduces a size that is too large without an error, as the kernel does. Returns 0, or -1 with errno. */
int buffer_set(const struct node *n, int there, int option, int bytes);
