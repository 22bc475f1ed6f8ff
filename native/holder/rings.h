/* Rings of packet sockets: memory that the kernel counts for nobody, so the holder makes them for nodes, within a bound. */
#pragma once
#include "loop.h"

enum {
  RINGS_FD = 5,               /* in the holder and in what becomes a node: the line on which listeners are handed over */
  RING_BYTES = 8 << 20,       /* of all rings of a node together; tcpdump takes 2 MiB each */
  RING_BYTES_EVER = 64 << 20, /* in the life of a node, used if the kernel does not report the present ones */
};

/* The holder's end of the line. */
extern struct source rings_line;

/* Once, in the lab's init, while RINGS_FD is free. Answers 0, or -1 with errno. */
int rings_init(void);
/* In a process of the node that has just installed its filter: gives its listener to the holder, and closes both here. Answers 0, or -1 with errno. */
int rings_hand_over(long node, int listener);
