/* The boot command of Linux hosts; README.md. */
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A request to the kernel's routing tables, with room for the few attributes that are used here. */
struct request {
  struct nlmsghdr header;
  union { struct ifaddrmsg address; struct ifinfomsg link; struct rtmsg route; } body;
  char attributes[128];
};

void request_init(struct request *r, uint16_t type, uint16_t flags, size_t body);
void request_put(struct request *r, uint16_t type, const void *data, size_t length);
/* Whether the kernel did it. */
bool request_done(struct request *r);
/* After the last of them. */
void requests_end(void);

/* In the node's init: does what it can of this boot command; answers what is to be run for the rest, NULL where nothing is left. Any other command is left as it is. */
char **boot_here(char **argv, char **env);

/* Does one line where it is plain; false: it was not, or the kernel refused it, and nothing was changed. Writes into the line. */
bool plain_line(char *line);
/* Whether one of them set a link's state. */
extern bool plain_line_set_link;
