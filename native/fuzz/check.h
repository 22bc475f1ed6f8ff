/* For tests in C. */
#pragma once
#include <stdio.h>
#include <stdlib.h>

/* Ends the test if the condition does not hold. */
#define CHECK(condition)                                                                 \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);     \
      exit(1);                                                                           \
    }                                                                                    \
  } while (0)
