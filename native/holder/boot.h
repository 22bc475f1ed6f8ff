/* The boot command of Linux hosts; README.md. */
#pragma once
#include "../common/netlink.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sends the request. Returns whether the kernel has carried it out. */
bool request_done(struct netlink_request *r);
/* Closes the netlink socket. Called after the last request. */
void requests_end(void);

/*
 * Called in the node's init. Carries out the plain lines of the boot command. Returns the command for the rest, NULL if nothing is left. Returns any
 * other command unchanged.
 */
char **boot_here(char **argv, char **env);

/* Carries out one plain line. Returns false, with nothing changed, if the line is not plain or the kernel refused it. Modifies the line. */
bool plain_line(char *line);
/* Whether a line has set the state of a link. */
extern bool plain_line_set_link;
