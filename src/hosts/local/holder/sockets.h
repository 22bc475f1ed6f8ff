/* Sockets whose queues the kernel counts for no memory group: netlink, packet, raw IP and the like. TCP, UDP and UNIX are counted. */
#pragma once
#include "lab.h"

enum {
  MOST_SOCKETS = 512,      /* of these in a node. Routing daemons have one or two for each interface */
  RAISED_SOCKETS = 32,     /* buffers grow only while the node has no more of these, so there are no more large buffers than this */
  RAISED_BUFFER = 1 << 20, /* bytes that may be asked for; the kernel takes twice as much */
};

/* Whether the node may make another one. Answers 0, or -1 with errno. */
int socket_grant(const struct node *n);
/* setsockopt(SO_RCVBUF) and (SO_SNDBUF). A size that the node may not have is cut down without an error, as the kernel does. Answers 0, or -1 with errno. */
int buffer_set(const struct node *n, int there, int option, int bytes);
