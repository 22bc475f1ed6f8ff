/* Parses one node of a spawn request. All nodes are checked before the first is started. */
#include "node.h"

bool reader_spawn(struct reader *r, struct spawn *s) {
  s->id = reader_number(r, INT32_MAX);
  s->hostname = reader_text(r);
  s->disk = reader_text(r);
  s->lower = reader_list(r, 1);
  s->files = reader_list(r, 3);
  s->env = reader_list(r, 1);
  s->boot = reader_list(r, 1);
  s->console = reader_list(r, 1);
  s->main = reader_list(r, 1);
  s->devices = reader_list(r, 1);
  struct reader check = s->files.items;
  for (uint32_t i = 0; i < s->files.count && !r->bad; i++) {
    size_t length;
    if (*reader_text(&check) != '/') r->bad = true;
    reader_number(&check, 07777);
    reader_bytes(&check, &length);
    r->bad = r->bad || check.bad;
  }
  const struct list *texts[] = {&s->lower, &s->env, &s->boot, &s->console, &s->main, &s->devices};
  for (size_t i = 0; i < ARRAY(texts) && !r->bad; i++) {
    check = texts[i]->items;
    for (uint32_t k = 0; k < texts[i]->count && !check.bad; k++)
      if (*reader_text(&check) != '/' && i == 0) check.bad = true;
    r->bad = check.bad;
  }
  check = s->devices.items;
  for (uint32_t i = 0; i < s->devices.count && !r->bad; i++) {
    const char *name = reader_text(&check);
    if (strcmp(name, "ro") && strcmp(name, "rw")) continue;
    r->bad = s->devices.count - i < 3 || *reader_text(&check) != '/' || *reader_text(&check) != '/';
    i += 2;
  }
  if (s->main.count > 0 && !r->bad) {
    check = s->main.items;
    r->bad = s->main.count < 3 || s->main.count > 2 + MAX_GROUPS || s->console.count == 0 || *reader_text(&check) != '/';
    for (uint32_t k = 1; k < s->main.count; k++) reader_number(&check, INT32_MAX);
    r->bad = r->bad || check.bad;
  }
  r->bad = r->bad || *s->disk != '/' || s->lower.count == 0 || !*s->hostname || strlen(s->hostname) > 64;
  return !r->bad;
}
