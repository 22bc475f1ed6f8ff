/* One line of a request, as the shaper and its asker read it. README.md lists the lines. */
#pragma once
#include "shaper.h"

struct request {
  enum { MALFORMED, SHOW, PUT, TAKE, DROP } kind;
  long id;
  int mtu;
  struct settings set[2]; /* of PUT */
  struct end ends[2];     /* of TAKE: all but the descriptors */
};

/* Reads a line without its end. NULL, or the problem; of a malformed PUT, `kind` and `id` are set as far as they were read. */
const char *request_read(const char *line, struct request *r);
