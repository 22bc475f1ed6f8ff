#pragma once

/* Prints `what` and the text of errno, and ends the program. */
_Noreturn void fail(const char *what);

/* Makes a root of which the program sees only itself, its libraries, its data, and the working directory as /view, all read-only. `over` is the directory
 * that the new root is put together on. */
void make_root(const char *program, const char *over);

/* Removes everything that decoding does not need: user ids, capabilities, unlimited memory, system calls. */
void confine(long id);
