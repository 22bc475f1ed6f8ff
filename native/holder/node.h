/* The code that runs inside a node, after the clone. */
#pragma once
#include "lab.h"

enum { CONTROL_FD = 3 /* in a node's init: its line to the holder */ };
/* The holder sends this signal to a node's init when somebody opens its console. */
#define SIG_CONSOLE_OPENED SIGRTMIN

/*
 * The namespaces of a node that a program enters; it is in the node's pid namespace already. The user namespace is the node's own: the capabilities of its root do
 * not reach the fabric, although its interfaces lead there, nor other nodes.
 */
static const int node_namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWCGROUP;

/*
 * An empty read-only directory in the lab's own root. It is mounted over directories that nodes must not see. The kernel lets nodes mount /proc and /sys only if those
 * of the lab are covered nowhere but at directories made for mounts, such as this one.
 */
#define EMPTY_DIRECTORY "sys/fs/cgroup"

/* One node of a spawn request. The texts point into the request. */
struct spawn { long id; const char *hostname, *disk; struct list lower, files, env, boot, console, main, devices; };

/* A message of a node's init to the holder. READY carries the holder's side of the terminal. BOOTED_WITHOUT_LINKS: boot changed no link's state. */
struct report { enum { READY, SETUP_FAILED, BOOTED, BOOTED_WITHOUT_LINKS } kind; int value; char step[112]; };

void report(int fd, int kind, int value, const char *step);

/* Reports a failed set-up step and errno to the holder, and ends the node. `require` does this if rc is negative. */
void setup_failed(const char *step, const char *detail);
void require(int rc, const char *step, const char *detail);

/* Finds out which files of the machine are closed to nodes anyway. Called once, in the lab's init, before the first make_root. */
void make_root_init(void);
/* Mounts overlay, /proc, /sys, /dev and console. Returns the node's side of the terminal. */
/* @param limits whether the node may make net namespaces, so that their number needs a limit */
int make_root(struct spawn *s, bool limits, int *master);
void write_file(const char *path, mode_t mode, const char *text, size_t length);

/* Builds the filters. Called once, before the first confine. */
void confine_init(void);
/* Sets capabilities, seccomp filter and limits of this process and all its children. Returns 0, or -1 with errno. */
int confine(const struct node *n);
/* Whether the node has the wide profile of system calls. */
bool is_wide(const struct node *n);
/*
 * Sets the number of descriptors that programs may have. After confine, and after the last descriptor that this process sends: the kernel refuses one if all nodes of the lab
 * together have more descriptors on their way than the sender may have open. The holder of a large lab itself has more open than a program may have.
 */
int limit_descriptors(void);

/* Changes to the user and the work directory of the node's main program (struct node, main). Creates the directory if it is missing. */
void become_user(char **main, int terminal);

/* Executes the program, in a node or in the fabric. */
_Noreturn void become(char **argv, char **env);
int exit_code(int status);

/* Shows in ps whose process this is. */
void mark_process(const char *text);
/* @param shares whether the process shares the holder's descriptors: it closes none before it has its own */
_Noreturn void node_main(struct node *n, struct spawn *s, bool shares, struct buffer *request);
