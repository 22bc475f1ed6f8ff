#include "../../fuzz/check.h"
#include "../number.h"
#include <string.h>

static bool reads(const char *text, uint64_t max, uint64_t expected, const char *rest) {
  uint64_t number = 1234;
  const char *at = text;
  return read_number(&at, max, &number) && number == expected && !strcmp(at, rest);
}

static bool refuses(const char *text, uint64_t max) {
  uint64_t number = 1234;
  const char *at = text;
  return !read_number(&at, max, &number) && number == 1234 && at == text;
}

int main(void) {
  CHECK(reads("0", 0, 0, ""));
  CHECK(reads("007 8", 9, 7, " 8"));
  CHECK(reads("18446744073709551615", UINT64_MAX, UINT64_MAX, ""));
  CHECK(refuses("18446744073709551616", UINT64_MAX));
  CHECK(refuses("99999999999999999999999", UINT64_MAX));
  CHECK(reads("65535x", 65535, 65535, "x"));
  CHECK(refuses("65536", 65535));
  CHECK(refuses("9", 8));
  CHECK(reads("8", 8, 8, ""));
  CHECK(refuses("", 9));
  CHECK(refuses("-1", 9));
  CHECK(refuses("+1", 9));
  CHECK(refuses(" 1", 9));
  return 0;
}
