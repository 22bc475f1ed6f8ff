/* The lab's init, from the launcher's point of view. */
#pragma once
#include "base.h"

/* Tells the launcher, and the log, why there will be no lab. */
_Noreturn void unready(const char *step);

/* argv: the program, lab=<id>, init-range or init-own padded with blanks to the longest mark. */
_Noreturn void lab_init(char **argv);
