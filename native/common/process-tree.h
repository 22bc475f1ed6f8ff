/* Programs and all that they have started. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

/*
 * Called in a program before it is executed. Processes below it whose parent ends become its children, instead of those of init, so that kill_trees finds
 * them also in other sessions. The program can undo it. When the program ends, they become children of init.
 */
void adopt_orphans(void);

/* Kills programs that lead sessions of their own, the processes of these sessions, and all processes below them. /proc must show them. */
void kill_trees(const pid_t *roots, size_t count);
