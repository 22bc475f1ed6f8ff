#include "request.h"
#include "../common/number.h"
#include <limits.h>

enum { MAX_LOSS = 1000000000 /* parts per 1e9 */, MAX_KBIT = 1000000000, MIN_MTU = 68, MAX_MTU = 65535 };

static const uint64_t max_ns = 3600000000000ull;
static const char malformed[] = "not a request";

/* Reads a word of the line: a blank and digits. */
static bool word(const char **at, uint64_t max, uint64_t *number) {
  if (**at != ' ') return false;
  const char *digits = *at + 1;
  if (!read_number(&digits, max, number)) return false;
  *at = digits;
  return true;
}

static bool words(const char **at, size_t count, uint64_t *numbers) {
  size_t read = 0;
  while (read < count && word(at, UINT64_MAX, &numbers[read])) read++;
  return read == count;
}

static bool read_id(const char **at, long *id) {
  uint64_t number;
  if (!word(at, LONG_MAX, &number)) return false;
  *id = (long)number;
  return true;
}

static const char *read_put(const char *at, struct request *r) {
  uint64_t v[9];
  if (!read_id(&at, &r->id) || !words(&at, 9, v) || *at) return malformed;
  for (int i = 0; i < 2; i++) {
    const uint64_t *of = v + 1 + 4 * i;
    if (of[0] > max_ns || of[1] > max_ns || of[2] > MAX_LOSS || of[3] > MAX_KBIT) return "out of range";
    r->set[i] = (struct settings){.delay = (int64_t)of[0], .jitter = (int64_t)of[1], .loss = of[2], .kbit = of[3]};
  }
  if (v[0] < MIN_MTU || v[0] > MAX_MTU) return "no such MTU";
  r->mtu = (int)v[0];
  r->kind = PUT;
  return NULL;
}

static const char *read_take(const char *at, struct request *r) {
  uint64_t v[6];
  if (!read_id(&at, &r->id) || !words(&at, 6, v) || *at) return malformed;
  if (v[0] < MIN_MTU || v[0] > MAX_MTU || v[4] > INT_MAX || v[5] > INT_MAX) return malformed;
  /* receive_frames divides by the slot size and reads the ring in slots, so both must be checked here. */
  if (v[1] == 0 || v[2] == 0 || v[2] > v[3] / v[1]) return malformed;
  r->mtu = (int)v[0];
  for (int i = 0; i < 2; i++) r->ends[i] = (struct end){.fd = -1, .index = (int)v[4 + i], .slot = v[1], .slots = v[2], .bytes = v[3]};
  r->kind = TAKE;
  return NULL;
}

const char *request_read(const char *line, struct request *r) {
  *r = (struct request){.kind = MALFORMED, .ends = {{.fd = -1}, {.fd = -1}}};
  if (!strcmp(line, "show")) return r->kind = SHOW, NULL;
  if (!strncmp(line, "put ", 4)) return read_put(line + 3, r);
  if (!strncmp(line, "take ", 5)) return read_take(line + 4, r);
  const char *at = line + 4;
  if (strncmp(line, "drop ", 5) || !read_id(&at, &r->id) || *at) return malformed;
  r->kind = DROP;
  return NULL;
}
