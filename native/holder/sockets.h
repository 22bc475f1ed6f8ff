/* Sockets whose queues the kernel counts for no memory group: netlink, packet, raw IP and the like. TCP, UDP and UNIX are counted. */
#pragma once
#include "lab.h"

enum {
  MAX_SOCKETS = 256,      /* of these in a node. Routing daemons have one or two for each interface */
  RAISED_SOCKETS = 32,     /* buffers grow only while the node has no more of these, so no more of them are large */
  RAISED_BUFFER = 1 << 20, /* bytes of SO_RCVBUF that may be asked for; the kernel takes twice as much */
  SENT_BUFFER = 212992,    /* the same of SO_SNDBUF: it bounds a message, and each queue takes one message more than its size */
};

/* Whether the node may make another one. Answers 0, or -1 with errno. */
int socket_grant(const struct node *n);
/* setsockopt(SO_RCVBUF) and (SO_SNDBUF). A size that the node may not have is cut down without an error, as the kernel does. Answers 0, or -1 with errno. */
int buffer_set(const struct node *n, int there, int option, int bytes);
