/* The lab's init, from the launcher's point of view. */
#pragma once
#include "base.h"

/* Reports to the launcher and logs why the lab cannot start, then ends the process. */
_Noreturn void unready(const char *step);

/* argv: the program, lab=<id>, init-range or init-own padded with blanks to the longest mark. */
_Noreturn void lab_init(char **argv);
