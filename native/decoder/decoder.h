#pragma once

/* Ends the program with these words and errno. */
_Noreturn void fail(const char *what);

/* Makes a root of which the program sees only itself, its libraries, its data, and the working directory as /view, all read-only. `over` is the directory
 * that the new root is put together on. */
void make_root(const char *program, const char *over);

/* Takes away all that decoding does not need: ids, capabilities, memory without end, system calls. */
void confine(long id);
