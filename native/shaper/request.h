/* One line of a request, as the shaper and its asker read it. README.md lists the lines. */
#pragma once
#include "shaper.h"

struct request {
  enum { MALFORMED, SHOW, PUT, TAKE, DROP } kind;
  long id;
  int mtu;
  struct settings set[2]; /* of PUT */
  struct end ends[2];     /* the fields of TAKE, except the descriptors */
};

/* Parses a line without its line end. Returns NULL or the problem. For a malformed PUT, `kind` and `id` are set if they could be read. */
const char *request_read(const char *line, struct request *r);
