/* Lines of a node's exec commands. */
#include <net/if.h>
#include <stdlib.h>
/* Devices that exist on every machine. */
#define if_nametoindex(name) ((unsigned)(*(name) % 3))
#include "../boot-plain.c"
#include "../boot.c"

bool request_done(struct netlink_request *r) {
  if (r->full) abort(); /* every plain line fits */
  return r->header.nlmsg_type != RTM_NEWROUTE || ((const struct rtmsg *)(const void *)r->rest)->rtm_dst_len % 2 == 0;
}
void requests_end(void) {}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  *(char *)mempcpy(text, data, size) = 0;
  run_lines(text);
  free(text);
  return 0;
}
