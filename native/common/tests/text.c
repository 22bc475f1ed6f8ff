/* A text that could not grow is marked as incomplete. */
#include "../../fuzz/check.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool no_memory;
static void *scarce_realloc(void *old, size_t size) { return no_memory ? NULL : realloc(old, size); }

/* Replaces the linked function. */
#define text_add tested_add
#define text_format tested_format
#define text_free tested_free
#define text_field tested_field
#define realloc scarce_realloc
#include "../text.c"

int main(void) {
  struct text t = {0};
  text_add(&t, "ab", 2);
  text_format(&t, "%d%s", 7, "");
  CHECK(t.length == 3 && !strcmp(t.data, "ab7") && !t.failed);
  text_free(&t);

  /* Longer than any fixed buffer. */
  char long_text[5001];
  memset(long_text, 'x', sizeof long_text - 1);
  long_text[sizeof long_text - 1] = 0;
  text_format(&t, "<%s>", long_text);
  CHECK(t.length == 5002 && t.data[0] == '<' && t.data[5001] == '>' && strlen(t.data) == 5002);

  struct text fields = {0};
  text_field(&fields, "%s", "a\x1f" "b");
  text_field(&fields, "%s", long_text);
  text_field(&fields, "%s", "");
  CHECK(fields.length == 4 + 5001 + 1 && !memcmp(fields.data, "a\x1f" "b", 4) && fields.data[4 + 5000] == 0 && fields.data[4 + 4999] == 'x');
  text_free(&fields);

  no_memory = true;
  for (int i = 0; i < 10; i++) text_format(&t, "%s", long_text);
  CHECK(t.failed && strlen(t.data) == t.length);
  no_memory = false;
  size_t cut = t.length;
  text_add(&t, "end", 3);
  CHECK(t.failed && t.length == cut); /* nothing follows the gap */
  text_free(&t);

  no_memory = true;
  text_format(&t, "x");
  CHECK(t.failed && !t.data);
  text_free(&t);
  return 0;
}
