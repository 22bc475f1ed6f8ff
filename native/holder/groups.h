/* Control groups. The service makes a directory per hierarchy for the lab, with "lab" below it for the holder and its programs; nodes
 * get one each beside it, named by their id. Where the service has none to give, all of this does nothing. */
#pragma once
#include "base.h"

enum { MAX_GROUPS_DIRS = 8, GROUP_FD = 6 /* the first of the lab's directories, handed from the launcher to the lab's init */ };

/* Open files through which a process of ours enters a node's groups; opened by the holder, for the process may not. Of the unified hierarchy it is
 * the group itself, which a process is best born into. */
struct group_handles { int fds[MAX_GROUPS_DIRS]; };

void groups_init(void);
/* Answers 0, or -1 with errno. Makes the node's groups where they are missing. */
int group_limit(long id, long hierarchy, const char *file, const char *value);
struct group_handles groups_open(long id);
/* clone_process of one that is to enter. */
pid_t groups_clone(struct group_handles *h, unsigned long flags);
/* In the process that enters: its children are in the groups too. */
int groups_enter(const struct group_handles *h);
void groups_close(struct group_handles *h);
/* Of a node that is gone. */
void groups_remove(long id);
/* False where no hierarchy can. */
bool groups_freeze(long id, bool freeze);
