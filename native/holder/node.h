/* A node from the inside: what runs after the clone. */
#pragma once
#include "lab.h"

enum { CONTROL_FD = 3 /* in a node's init: its line to the holder */ };
/* The holder tells a node's init by this signal that somebody looks at its console. */
#define SIG_CONSOLE_OPENED SIGRTMIN

/* An empty directory that cannot be written to, in the lab's own root: all nodes share it as a mask. */
#define EMPTY_DIRECTORY "proc/fs"

/* One node of a spawn request; texts lie in the request. */
struct spawn { long id; const char *hostname, *disk; struct list lower, files, env, boot, console, main, devices; };

/* What a node's init tells the holder. READY brings the terminal's holder side along. BOOTED_WITHOUT_LINKS: booted, and no port's state was touched by it. */
struct report { enum { READY, SETUP_FAILED, BOOTED, BOOTED_WITHOUT_LINKS } kind; int value; char step[112]; };

void report(int fd, int kind, int value, const char *step);

/* Set-up steps: on failure the holder is told step and errno, and the node ends. */
void setup_failed(const char *step, const char *detail);
void require(int rc, const char *step, const char *detail);

/* Overlay, /proc, /sys, /dev, console; answers the terminal's node side. */
int make_root(struct spawn *s, int *master);
void write_file(const char *path, mode_t mode, const char *text, size_t length);

/* Once, before any of them. */
void confine_init(void);
/* Capabilities, seccomp, limits; of this process and all that come of it. */
int confine(const struct node *n);

/* Becomes the user of a node's own program (struct node, main) in its work directory, which is made where it is missing. */
void become_user(char **main, int terminal);

/* Becomes the program, in a node or in the fabric. */
_Noreturn void become(char **argv, char **env);
int exit_code(int status);

/* Tells ps whose process this is. */
void mark_process(const char *text);
_Noreturn void node_main(struct node *n, struct spawn *s, int control, const struct group_handles *h, struct buffer *request);
