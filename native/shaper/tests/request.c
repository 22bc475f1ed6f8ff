/* Lines of requests: those of this release and of earlier ones, whose shapers and askers may still run, and malformed ones. */
#include "../../fuzz/check.h"
#include "../request.c"

static struct request r;

static bool is(const char *line, int kind, long id, int mtu) { return !request_read(line, &r) && (int)r.kind == kind && r.id == id && r.mtu == mtu; }

static bool refused(const char *line, const char *problem) {
  const char *found = request_read(line, &r);
  return found && !strcmp(found, problem) && r.kind == MALFORMED;
}

int main(void) {
  CHECK(is("show", SHOW, 0, 0));
  CHECK(is("drop 12", DROP, 12, 0));
  CHECK(is("put 3 9000 1 2 3 4 3600000000000 3600000000000 1000000000 1000000000", PUT, 3, 9000));
  CHECK(r.set[0].delay == 1 && r.set[0].jitter == 2 && r.set[0].loss == 3 && r.set[0].kbit == 4);
  CHECK(r.set[1].delay == 3600000000000 && r.set[1].jitter == 3600000000000 && r.set[1].loss == 1000000000 && r.set[1].kbit == 1000000000);
  CHECK(is("take 3 1500 2048 128 262144 8 9", TAKE, 3, 1500));
  for (int i = 0; i < 2; i++) CHECK(r.ends[i].fd == -1 && r.ends[i].slot == 2048 && r.ends[i].slots == 128 && r.ends[i].bytes == 262144 && r.ends[i].index == 8 + i);

  CHECK(refused("put 1 1500 3600000000001 0 0 0 0 0 0 0", "out of range"));
  CHECK(refused("put 1 1500 0 0 0 0 0 0 1000000001 0", "out of range"));
  CHECK(refused("put 1 67 0 0 0 0 0 0 0 0", "no such MTU"));
  CHECK(refused("put 1 65536 0 0 0 0 0 0 0 0", "no such MTU"));
  const char *lines[] = {
    "",          "put",     "put 1 1500",           "put2 1500",           "put 1 1500 0 0 0 0 0 0 0",         "put 1 1500 0 0 0 0 0 0 0 0 0",
    "shows",     "drop",    "drop -1",              "drop 1 2",            "drop 9223372036854775808",         "put -1 1500 0 0 0 0 0 0 0 0",
    "take 3",    "list",    "put  1 1500 0 0 0 0 0 0 0 0",                 "put 1 1500 0 0 0 0 0 0 0 0 ",      "put 1 1500 0 0 0 0 0 0 0 0x",
    "take 3 1500 0 128 262144 8 9",                 "take 3 1500 2048 0 262144 8 9",                           "take 3 1500 2048 129 262144 8 9",
    "take 3 1500 2048 18446744073709551615 262144 8 9",                    "take 3 1500 2048 128 262144 8 4294967296",
  };
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) CHECK(refused(lines[i], "not a request"));
  return 0;
}
