/* Rings of packet sockets. The kernel counts their memory for no control group, so the holder makes them for nodes, within a limit. */
#pragma once
#include "loop.h"

enum {
  RINGS_FD = 5,               /* in the holder and in processes that become nodes: the socket that passes listeners */
  RING_BYTES = 8 << 20,       /* of all rings of a node together; tcpdump takes 2 MiB each */
  RING_BYTES_EVER = 64 << 20, /* of all rings that a node ever made, used if the kernel does not report the existing ones */
};

/* The holder's end of the line. */
extern struct source rings_line;

/* Prepares the rings. Called once, in the lab's init, while RINGS_FD is free. Returns 0, or -1 with errno. */
int rings_init(void);
/* Gives the listener to the holder and closes both descriptors. Called in a process of the node that has just installed its filter. Returns 0, or
 * -1 with errno. */
int rings_hand_over(long node, int listener);
