/* A lab's own range of user and group ids, and the view of files in which they belong to it. */
#pragma once
#include "base.h"

enum { RANGE_IDS = 65536 };

/*
 * Takes a range that no other lab has: locks a file of the directory, named by the range's number. The lock lasts as long as the descriptor, which is
 * stored in *lock. Returns the range's first id, or 0 if no range is free.
 */
unsigned long range_lock(const char *directory, const char *lab, int *lock);

/*
 * Enters a mount namespace in which the files of these directories that belong to ids from `on_disk` on belong to the ids from `base` on. False where the
 * kernel or a file system cannot do that: then nothing is changed, and *why is the reason. Only the first `plain` paths may contain symbolic links: others
 * may write in the directories of the rest.
 */
bool range_map_files(char *const *directories, size_t count, size_t plain, unsigned long on_disk, unsigned long base, const char **why);

/* Reads which ids this process's user namespace maps. Called once, in the lab's init, before the first range_share. */
bool range_init(void);
/* Maps all ids of this process's user namespace to the same ids in the new user namespace of its child. False: errno is set, and some may be mapped. */
bool range_share(pid_t pid);
