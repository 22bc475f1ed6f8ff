/* The init of a node with a kernel of its own. README.md describes it. */
#pragma once
#include "../common/guest.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define ARRAY(a) (sizeof(a) / sizeof *(a))
#define CONSOLE "/dev/ttyS0"
#define DEFAULT_PATH "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* Prints a message on the console, and ends the guest. */
_Noreturn __attribute__((format(printf, 1, 2))) void fail(const char *format, ...);

/* root.c: loads the kernel modules, mounts the read-only images, and makes the node's root of them and the node's own disk. */
void load_modules(void);
void mount_images(void);
void enter_root(void);

/* links.c: the interfaces. Those that the node does not have are in a net namespace that only this program uses, with the private link. */
void links_open(void);
/* Sockets of the private link. */
int private_listen(void);
int private_connect(void); /* tries until the supervisor accepts it */
/* Handles a message: "<number> <hardware address> <MTU> <name> [<addresses>]" for an interface that the node has, "<number>" for one that it has no more. */
void link_added(const char *text);
void link_removed(const char *text);

/* begin.c: waits until this guest is a node, and returns the connection with its supervisor. A snapshot of the guest may be taken before. */
int begin_node(void);

/* settings.c: the node's settings, which its supervisor sends. */
struct settings { char **env, **boot, **console; };
extern struct settings settings;
/* Handles a message of the settings. Returns false if it is a different message. */
bool setting(const struct guest_message *m);
/* Returns the texts of a block in which a NUL ends each text, as a vector that ends with NULL. */
char **texts_of(char *block, size_t length);

/* program.c: serves one connection of an exec client, in a process of its own, and does not return. */
_Noreturn void serve_program(int fd);
_Noreturn void become(char **argv, char **env);
int exit_code(int status);
