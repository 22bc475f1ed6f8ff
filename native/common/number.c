#include "number.h"

bool read_number(const char **at, uint64_t max, uint64_t *number) {
  const char *digit = *at;
  uint64_t value = 0;
  for (; *digit >= '0' && *digit <= '9'; digit++) {
    unsigned next = (unsigned)(*digit - '0');
    if (value > (max - next) / 10 || next > max) return false;
    value = value * 10 + next;
  }
  if (digit == *at) return false;
  *number = value;
  *at = digit;
  return true;
}
