/* Plain lines: addresses, links and routes. They send the kernel the same requests as iproute2. */
#include "boot.h"
#include <arpa/inet.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 10 };

struct prefix { int family; size_t size; unsigned char length; unsigned char bytes[16]; };

static bool parse_address(const char *text, struct prefix *p) {
  p->family = strchr(text, ':') ? AF_INET6 : AF_INET;
  p->size = p->family == AF_INET6 ? 16 : 4;
  p->length = (unsigned char)(p->size * 8);
  return inet_pton(p->family, text, p->bytes) == 1;
}

/* Accepts digits only. A line with another notation is run by its own program. */
static bool parse_count(const char *text, unsigned long max, unsigned long *count) {
  if (!*text || strlen(text) > 9 || text[strspn(text, "0123456789")]) return false;
  *count = strtoul(text, NULL, 10);
  return *count <= max;
}

static bool parse_prefix(char *text, struct prefix *p) {
  char *slash = strchr(text, '/');
  unsigned long length;
  if (slash) *slash = 0;
  if (!parse_address(text, p)) return false;
  if (!slash) return true;
  if (!parse_count(slash + 1, p->size * 8, &length)) return false;
  p->length = (unsigned char)length;
  return true;
}

static bool add_address(char **words, size_t count) {
  struct prefix p;
  struct netlink_request r;
  if (count != 3 || strcmp(words[1], "dev") || !parse_prefix(words[0], &p)) return false;
  struct ifaddrmsg address = {
    .ifa_family = (unsigned char)p.family, .ifa_prefixlen = p.length, .ifa_index = if_nametoindex(words[2]),
    .ifa_scope = p.family == AF_INET && p.bytes[0] == 127 ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE,
  };
  netlink_begin(&r, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &address, sizeof address);
  netlink_put(&r, IFA_LOCAL, p.bytes, p.size);
  netlink_put(&r, IFA_ADDRESS, p.bytes, p.size);
  return address.ifa_index && request_done(&r);
}

bool plain_line_set_link;

static bool set_link(char **words, size_t count) {
  struct netlink_request r;
  unsigned long mtu;
  if (count > 0 && !strcmp(words[0], "dev")) words++, count--;
  bool state = count == 2 && (!strcmp(words[1], "up") || !strcmp(words[1], "down"));
  if (!state && (count != 3 || strcmp(words[1], "mtu") || !parse_count(words[2], UINT32_MAX, &mtu))) return false;
  plain_line_set_link = true;
  struct ifinfomsg link = {.ifi_index = (int)if_nametoindex(words[0])};
  if (state) {
    link.ifi_change = IFF_UP;
    link.ifi_flags = strcmp(words[1], "up") ? 0 : IFF_UP;
  }
  netlink_begin(&r, RTM_NEWLINK, 0, &link, sizeof link);
  if (!state) {
    uint32_t value = (uint32_t)mtu;
    netlink_put(&r, IFLA_MTU, &value, sizeof value);
  }
  return link.ifi_index && request_done(&r);
}

static bool add_route(char **words, size_t count) {
  struct prefix to = {.length = 0}, via;
  struct netlink_request r;
  if ((count != 3 && count != 5) || strcmp(words[1], "via") || !parse_address(words[2], &via)) return false;
  bool anywhere = !strcmp(words[0], "default");
  if (!anywhere && (!parse_prefix(words[0], &to) || to.family != via.family)) return false;
  struct rtmsg route = {
    .rtm_family = (unsigned char)via.family, .rtm_dst_len = to.length, .rtm_table = RT_TABLE_MAIN, .rtm_protocol = RTPROT_BOOT,
    .rtm_scope = RT_SCOPE_UNIVERSE, .rtm_type = RTN_UNICAST,
  };
  netlink_begin(&r, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &route, sizeof route);
  if (!anywhere) netlink_put(&r, RTA_DST, to.bytes, to.size);
  netlink_put(&r, RTA_GATEWAY, via.bytes, via.size);
  if (count == 5) {
    uint32_t device = strcmp(words[3], "dev") ? 0 : if_nametoindex(words[4]);
    if (!device) return false;
    netlink_put(&r, RTA_OIF, &device, sizeof device);
  }
  return request_done(&r);
}

bool plain_line(char *line) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ./:_-";
  static const struct { const char *object, *verb; bool (*run)(char **, size_t); } commands[] = {
    {"addr", "add", add_address}, {"address", "add", add_address}, {"link", "set", set_link}, {"route", "add", add_route},
  };
  char *words[MAX_WORDS], *rest = NULL;
  size_t count = 0;
  if (line[strspn(line, plain)]) return false;
  for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
    if (count == MAX_WORDS) return false;
    words[count++] = word;
  }
  if (count < 4 || strcmp(words[0], "ip")) return count == 0;
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
    if (!strcmp(words[1], commands[i].object) && !strcmp(words[2], commands[i].verb)) return commands[i].run(words + 3, count - 3);
  return false;
}
