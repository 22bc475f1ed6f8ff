/* The boot command of Linux hosts; README.md. */
#pragma once
#include "../common/netlink.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the kernel did it. */
bool request_done(struct netlink_request *r);
/* After the last of them. */
void requests_end(void);

/* In the node's init: does what it can of this boot command; answers what is to be run for the rest, NULL where nothing is left. Any other command is left as it is. */
char **boot_here(char **argv, char **env);

/* Does one line where it is plain; false: it was not, or the kernel refused it, and nothing was changed. Writes into the line. */
bool plain_line(char *line);
/* Whether one of them set a link's state. */
extern bool plain_line_set_link;
