/* Memory allocation for programs that cannot continue without it. */
#pragma once

/* Returns p, the result of malloc, mmap or the like. Ends the program with code 70 if that failed. */
void *need(void *p);
