/*
 * Redirects of ports: what `tc filter replace … u32 … action mirred egress redirect` does, without the list of all devices that tc asks the kernel for
 * first. That takes longer the larger the lab is; a change of one link must not.
 */
#include "../common/netlink.h"
#include "../common/number.h"
#include "shaper.h"
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/sockios.h>
#include <linux/tc_act/tc_mirred.h>
#include <arpa/inet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static struct netlink_request begin(uint16_t type, uint16_t flags, int index, uint32_t parent, uint32_t handle, uint32_t info) {
  struct netlink_request r;
  struct tcmsg tc = {.tcm_ifindex = index, .tcm_parent = parent, .tcm_handle = handle, .tcm_info = info};
  netlink_begin(&r, type, flags, &tc, sizeof tc);
  return r;
}

static int add_clsact(int fd, int index) {
  struct netlink_request r = begin(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, index, TC_H_CLSACT, TC_H_MAKE(TC_H_CLSACT, 0), 0);
  netlink_put(&r, TCA_KIND, "clsact", sizeof "clsact");
  int error = netlink_do(fd, &r);
  return error == EEXIST ? 0 : error;
}

/* Sets the same filter with the same handle as the tc commands elsewhere, so that each can replace the other's filter in one step. */
static int redirect(int fd, int from, int to) {
  struct { struct tc_u32_sel sel; struct tc_u32_key key; } all = {.sel = {.flags = TC_U32_TERMINAL, .nkeys = 1}};
  struct tc_mirred mirred = {.action = TC_ACT_STOLEN, .eaction = TCA_EGRESS_REDIR, .ifindex = (uint32_t)to};
  struct netlink_request r = begin(RTM_NEWTFILTER, NLM_F_CREATE, from, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS), 0x80000800,
                                   TC_H_MAKE(1u << 16, htons(ETH_P_ALL)));
  netlink_put(&r, TCA_KIND, "u32", sizeof "u32");
  size_t options = netlink_put(&r, TCA_OPTIONS, NULL, 0);
  netlink_put(&r, TCA_U32_SEL, &all, sizeof all);
  size_t actions = netlink_put(&r, TCA_U32_ACT, NULL, 0), first = netlink_put(&r, 1, NULL, 0);
  netlink_put(&r, TCA_ACT_KIND, "mirred", sizeof "mirred");
  size_t parameters = netlink_put(&r, TCA_ACT_OPTIONS, NULL, 0);
  netlink_put(&r, TCA_MIRRED_PARMS, &mirred, sizeof mirred);
  netlink_end_nest(&r, parameters);
  netlink_end_nest(&r, first);
  netlink_end_nest(&r, actions);
  netlink_end_nest(&r, options);
  return netlink_do(fd, &r);
}

static int clear(int fd, int from) {
  struct netlink_request r = begin(RTM_DELTFILTER, 0, from, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS), 0, 0);
  return netlink_do(fd, &r);
}

/*
 * Makes the kernel compute the checksums of frames that leave at these ports, one name a line: a program that reads frames at the other end of the pair gets
 * them as on a wire. Without checksums of the kernel, it also cuts large packets (the pairs were made with gso_max_segs 1).
 */
int plain_frames(char *text) {
  struct ethtool_value off = {.cmd = ETHTOOL_STXCSUM, .data = 0};
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), error = fd < 0 ? errno : 0;
  const char *line = "socket";
  while (!error && text && (line = strsep(&text, "\n"))) {
    if (!*line) continue;
    struct ifreq r = {.ifr_data = (void *)&off};
    if (strlen(line) >= sizeof r.ifr_name) error = ENODEV;
    else memcpy(r.ifr_name, line, strlen(line));
    if (!error && ioctl(fd, SIOCETHTOOL, &r) < 0) error = errno;
  }
  if (fd >= 0) close(fd);
  if (error) dprintf(2, "labwright-shaper: %s: %s\n", line, strerror(error));
  return error ? 1 : 0;
}

/* A line that was read. */
struct step {
  enum { PREPARE, REDIRECT, CLEAR, GROUP_UP } kind;
  int from, to;
  uint32_t group;
  const char *line;
};

/* Splits a line at its blanks. Returns the number of words, or max + 1 if there are more than max. */
static size_t split(char *line, char **words, size_t max) {
  size_t count = 0;
  for (char *word; (word = strsep(&line, " "));) {
    if (!*word) continue;
    if (count == max) return max + 1;
    words[count++] = word;
  }
  return count;
}

/* Returns 0, or an error for a malformed line. */
static int read_step(const char *line, struct step *s) {
  char text[64], *words[3] = {0};
  uint64_t group;
  *s = (struct step){.line = line};
  if (strlen(line) >= sizeof text) return EINVAL;
  size_t count = split(strcpy(text, line), words, 3);
  if (count == 3) {
    const char *digits = words[1];
    if (strcmp(words[0], "group") || strcmp(words[2], "up") || !read_number(&digits, UINT32_MAX, &group) || *digits) return EINVAL;
    s->kind = GROUP_UP;
    s->group = (uint32_t)group;
    return 0;
  }
  if (count < 1 || count > 3) return EINVAL;
  s->kind = count == 1 ? PREPARE : strcmp(words[1], "-") ? REDIRECT : CLEAR;
  s->from = device_index(words[0]);
  if (s->kind == REDIRECT) s->to = device_index(words[1]);
  return s->from && (s->to || s->kind != REDIRECT) ? 0 : ENODEV;
}

static int carry_out(int fd, const struct step *s) {
  switch (s->kind) {
    case REDIRECT: return redirect(fd, s->from, s->to);
    case CLEAR: return clear(fd, s->from);
    case GROUP_UP: return group_request(fd, RTM_NEWLINK, 0, IFF_UP, s->group);
    default: return 0;
  }
}

/*
 * Carries out lines. "from to": each frame that comes in at `from` goes out of `to`. "from -": removes the redirect. "from": prepares the port for a later
 * redirect. "group N up": sets the ports of this group up. All ports get their clsact qdisc before any filter is set: for a qdisc on a port that is up, and
 * for the first filter of a fresh qdisc, the kernel waits for its readers under networking's one lock.
 */
int redirects(char *text) {
  size_t count = 0, room = 0;
  struct step *steps = NULL;
  int fd = netlink_open(NETLINK_ROUTE), error = fd < 0 ? errno : 0;
  const char *line = "socket";
  while (!error && text && (line = strsep(&text, "\n"))) {
    if (!*line) continue;
    if (count == room) {
      struct step *more = reallocarray(steps, room = room ? room * 2 : 256, sizeof *more);
      if (!more) {
        error = ENOMEM;
        break;
      }
      steps = more;
    }
    struct step *s = &steps[count++];
    error = read_step(line, s);
    /* A port without a clsact qdisc cannot have a filter. */
    if (!error && (s->kind == PREPARE || s->kind == REDIRECT)) error = add_clsact(fd, s->from);
  }
  for (size_t i = 0; !error && i < count; i++) error = carry_out(fd, &steps[i]), line = steps[i].line;
  if (fd >= 0) close(fd);
  free(steps);
  if (error) dprintf(2, "labwright-shaper: %s: %s\n", line, strerror(error));
  return error ? 1 : 0;
}
