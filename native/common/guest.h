/* Messages between a node's supervisor or exec client and the init of its own kernel: guest/README.md describes them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  GUEST_PORT = 1, /* TCP, at the guest's end of the private link */
  GUEST_HEAD = 6, /* the type, and the length as five groups of 7 bits, the lowest first: all bytes of a head are ASCII */
  GUEST_PIECE = 32768,     /* the most bytes of output or input in a message */
  GUEST_WINDOW = 65536,    /* bytes of input on their way to a program that does not read: sockets take them, so that sending never waits */
  GUEST_REQUEST = 4 << 20, /* the longest request of a program: argv and environment */
  GUEST_FILES = 256 << 20, /* the longest message of a node's settings */
};

/* The ends of the private link: no interface of a lab has these addresses, because each end has a net namespace of its own. */
#define GUEST_ADDRESS 0xa9fe4d02u /* 169.254.77.2 */
#define HOST_ADDRESS 0xa9fe4d01u
#define GUEST_PREFIX 30

/* Hardware addresses of the guest's interfaces: these bytes, then the number of the interface, or GUEST_LINK for the private link. */
#define GUEST_MAC "\x52\x4c\x57\x00\x00"
enum { GUEST_LINK = 0xff };

void guest_head(char head[GUEST_HEAD], char type, size_t length);

/* Returns the length of a message, SIZE_MAX for a malformed head. */
size_t guest_length(const char head[GUEST_HEAD]);

/* Sends one message on a socket that blocks. */
bool guest_send(int fd, char type, const void *data, size_t length);

/* Makes the socket send small messages without waiting for the answer to the last one. */
void guest_at_once(int fd);

/* A message that arrives in pieces. `data` has `length` bytes and a NUL when it is complete. */
struct guest_message { char head[GUEST_HEAD]; size_t got; char type, *data; size_t length, most; };

/* Reads what there is of the next message, once. Returns 1 if it is complete, 0 if not yet, -1 at the end, at an error and if it is too long. */
int guest_receive(int fd, struct guest_message *m);
/* Makes place for the next message. */
void guest_next(struct guest_message *m);
