/* Lines of a node's exec commands. */
#define _GNU_SOURCE
#include <net/if.h>
#include <stdlib.h>
/* Devices that exist wherever this runs. */
#define if_nametoindex(name) ((unsigned)(*(name) % 3))
#include "../boot-plain.c"
#include "../boot.c"

void request_init(struct request *r, uint16_t type, uint16_t flags, size_t body) {
  memset(r, 0, sizeof *r);
  r->header = (struct nlmsghdr){.nlmsg_len = (uint32_t)NLMSG_LENGTH(body), .nlmsg_type = type, .nlmsg_flags = flags};
}
void request_put(struct request *r, uint16_t type, const void *data, size_t length) {
  if (NLMSG_ALIGN(r->header.nlmsg_len) + RTA_SPACE(length) > sizeof *r) abort();
  memcpy(r->attributes, data, length); /* all of it is readable */
  r->header.nlmsg_len = (uint32_t)(NLMSG_ALIGN(r->header.nlmsg_len) + RTA_SPACE(length));
  (void)type;
}
bool request_done(struct request *r) { return r->header.nlmsg_type != RTM_NEWROUTE || r->body.route.rtm_dst_len % 2 == 0; }
void requests_end(void) {}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  *(char *)mempcpy(text, data, size) = 0;
  run_lines(text);
  free(text);
  return 0;
}
