/* One node of a spawn request, checked before any of them is made. */
#include "node.h"

bool take_spawn(struct reader *r, struct spawn *s) {
  s->id = take_number(r, INT32_MAX);
  s->hostname = take_text(r);
  s->disk = take_text(r);
  s->lower = take_list(r, 1);
  s->files = take_list(r, 3);
  s->env = take_list(r, 1);
  s->boot = take_list(r, 1);
  s->console = take_list(r, 1);
  s->main = take_list(r, 1);
  s->devices = take_list(r, 1);
  struct reader check = s->files.items;
  for (uint32_t i = 0; i < s->files.count && !r->bad; i++) {
    size_t length;
    if (*take_text(&check) != '/') r->bad = true;
    take_number(&check, 07777);
    take(&check, &length);
    r->bad = r->bad || check.bad;
  }
  const struct list *texts[] = {&s->lower, &s->env, &s->boot, &s->console, &s->main, &s->devices};
  for (size_t i = 0; i < ARRAY(texts) && !r->bad; i++) {
    check = texts[i]->items;
    for (uint32_t k = 0; k < texts[i]->count && !check.bad; k++)
      if (*take_text(&check) != '/' && i == 0) check.bad = true;
    r->bad = check.bad;
  }
  if (s->main.count > 0 && !r->bad) {
    check = s->main.items;
    r->bad = s->main.count < 3 || s->main.count > 2 + MAX_GROUPS || s->console.count == 0 || *take_text(&check) != '/';
    for (uint32_t k = 1; k < s->main.count; k++) take_number(&check, INT32_MAX);
    r->bad = r->bad || check.bad;
  }
  r->bad = r->bad || *s->disk != '/' || s->lower.count == 0 || !*s->hostname || strlen(s->hostname) > 64;
  return !r->bad;
}
