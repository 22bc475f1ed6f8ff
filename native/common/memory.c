#include "memory.h"
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

void *need(void *p) {
  if (!p || p == MAP_FAILED) {
    dprintf(2, "labwright: out of memory\n");
    _exit(70);
  }
  return p;
}
