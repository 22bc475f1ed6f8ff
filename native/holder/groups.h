/* Control groups. The service makes a directory per hierarchy for the lab, with "lab" below it for the holder and its programs; nodes
 * get one each beside it, named by their id. Without a directory from the service all functions here do nothing. */
#pragma once
#include "base.h"

enum { MAX_GROUPS_DIRS = 8, GROUP_FD = 6 /* the first of the lab's directories, handed from the launcher to the lab's init */ };

/* Open files through which a process of the holder enters a node's groups. The holder opens them, because the process may not. For the unified
 * hierarchy it is the group's directory, so that a process can be started inside the group. */
struct group_handles { int fds[MAX_GROUPS_DIRS]; };

void groups_init(void);
/* Sets a limit. Creates the node's group if it is missing. Returns 0, or -1 with errno. */
int group_limit(long id, long hierarchy, const char *file, const char *value);
struct group_handles groups_open(long id);
/* clone_process for a process that then calls groups_enter. It closes no handle, so that the new process may share the descriptors. */
pid_t groups_clone(struct group_handles *h, unsigned long flags);
/* Enters the node's control groups. Called in the new process, so that its children are in the same groups. */
int groups_enter(const struct group_handles *h);
void groups_close(struct group_handles *h);
/* Returns whether the kernel has killed a process of the node because its memory was exhausted. */
bool groups_out_of_memory(long id);
/* Removes the groups of a node that has ended. */
void groups_remove(long id);
/* Freezes or thaws the node. Returns false if no hierarchy supports it. */
bool groups_freeze(long id, bool freeze);
