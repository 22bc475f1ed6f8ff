/* Confines the root of a node: capabilities, system calls, AppArmor. */
#include "../common/seccomp.h"
#include "calls.h"
#include "init.h"
#include "node.h"
#include "rings.h"
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* The capabilities that routers, hosts and their tools use. zebra and FRR's other daemons refuse to start without SYS_ADMIN. */
static const int kept_capabilities[] = {
  CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID, CAP_KILL, CAP_SETGID, CAP_SETUID, CAP_SETPCAP, CAP_NET_BIND_SERVICE,
  CAP_NET_BROADCAST, CAP_NET_ADMIN, CAP_NET_RAW, CAP_IPC_LOCK, CAP_SYS_CHROOT, CAP_SYS_ADMIN, CAP_SYS_NICE, CAP_SYS_RESOURCE,
  CAP_AUDIT_WRITE,
};

/* The socket families that emulated networks need. Any other family is kernel code that a node could load and attack. AF_VSOCK also reaches the
 * hypervisor, in spite of net namespaces. */
static const unsigned families[] = {1 /* UNIX */, 2 /* INET */, 10 /* INET6 */, 15 /* KEY */, 16 /* NETLINK */, 17 /* PACKET */, 24 /* PPPOX */};

/* Refused ioctls: typing into another process's terminal, selecting and pasting on the machine's console, and line disciplines, which are kernel modules. */
static const unsigned denied_ioctls[] = {0x5412 /* TIOCSTI */, 0x541c /* TIOCLINUX */, 0x5423 /* TIOCSETD */};

/* The allowed arguments of personality(): the default, values that change the result of uname (32 bit, 2.6), and the query. Others weaken a
 * program's defences. */
static const unsigned personalities[] = {0, 8 /* LINUX32 */, 0x20000 /* UNAME26 */, 0x20008, 0xffffffff};

enum action { ALLOW, UNKNOWN, DENY, NO_CLONE3, IF_NOT_USER_0, IF_NOT_USER_1, IF_HARMLESS_IOCTL, IF_NETWORK, IF_SOCKET, IF_PERSONALITY, IF_OPTION, ACTIONS };

static const struct { unsigned call; enum action action; } other_rules[] = {
  {SYS_clone3, NO_CLONE3}, {SYS_clone, IF_NOT_USER_0}, {SYS_unshare, IF_NOT_USER_0}, {SYS_setns, IF_NOT_USER_1}, {SYS_ioctl, IF_HARMLESS_IOCTL},
  {SYS_socket, IF_SOCKET}, {SYS_socketpair, IF_NETWORK}, {SYS_personality, IF_PERSONALITY}, {SYS_setsockopt, IF_OPTION},
};

enum { CALLS = 512 /* numbers above the highest known call */ };

static struct filter usual, wide;

#define OP(...) FILTER_OP(p, __VA_ARGS__)
#define LOAD(field) FILTER_LOAD(p, field)
#define RETURN(value) FILTER_RETURN(p, value)
#define UNLESS_EQUAL_SKIP(value, skip) FILTER_UNLESS_EQUAL_SKIP(p, value, skip)
#define JUMP_TO_ACTION (BPF_JMP | BPF_JA)

/* All call numbers from `first` up to the next span's have the same action. */
struct span { unsigned first; enum action action; };

/* Finds the call's span by binary search: the kernel runs a new filter for every call number, which would otherwise be the slowest part of
 * confining. A jump to an action has the action's number until the action's place is known. */
static void filter_search(struct filter *p, const struct span *spans, size_t from, size_t to) {
  if (to - from > 1) {
    size_t middle = (from + to) / 2;
    unsigned short branch = p->length;
    OP(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, spans[middle].first, 0, 0));
    filter_search(p, spans, from, middle);
    p->ops[branch].jt = (unsigned char)(p->length - branch - 1);
    return filter_search(p, spans, middle, to);
  }
  switch (spans[from].action) {
  case ALLOW: RETURN(SECCOMP_RET_ALLOW); return;
  case UNKNOWN: RETURN(SECCOMP_RET_ERRNO | ENOSYS); return;
  case DENY: RETURN(SECCOMP_RET_ERRNO | EPERM); return;
  default: OP(BPF_STMT(JUMP_TO_ACTION, spans[from].action));
  }
}

static void allow_only(struct filter *p, const unsigned *values, size_t count, unsigned otherwise) {
  for (size_t i = 0; i < count; i++) {
    UNLESS_EQUAL_SKIP(values[i], 1);
    RETURN(SECCOMP_RET_ALLOW);
  }
  RETURN(otherwise);
}

/* UNIX, TCP and UDP are allowed, because the kernel counts their memory for the node. The holder decides about the other allowed families. */
static void filter_socket(struct filter *p) {
  LOAD(args[0]);
  UNLESS_EQUAL_SKIP(AF_UNIX, 1);
  RETURN(SECCOMP_RET_ALLOW);
  OP(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 1, 0));
  UNLESS_EQUAL_SKIP(AF_INET6, 10);
  LOAD(args[1]);
  OP(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf));
  UNLESS_EQUAL_SKIP(SOCK_STREAM, 1);
  RETURN(SECCOMP_RET_ALLOW);
  UNLESS_EQUAL_SKIP(SOCK_DGRAM, 4);
  LOAD(args[2]);
  OP(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0));
  UNLESS_EQUAL_SKIP(17 /* UDP */, 1);
  RETURN(SECCOMP_RET_ALLOW);
  RETURN(SECCOMP_RET_USER_NOTIF);
  for (size_t i = 0; i < ARRAY(families); i++) {
    UNLESS_EQUAL_SKIP(families[i], 1);
    RETURN(SECCOMP_RET_USER_NOTIF);
  }
  RETURN(SECCOMP_RET_ERRNO | EAFNOSUPPORT);
}

static void filter_action(struct filter *p, enum action action) {
  const unsigned deny = SECCOMP_RET_ERRNO | EPERM;
  switch (action) {
  case NO_CLONE3: /* its flags are in memory, which a filter cannot read; libraries then use clone */
    RETURN(SECCOMP_RET_ERRNO | ENOSYS);
    return;
  case IF_NOT_USER_0:
  case IF_NOT_USER_1:
    OP(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)(offsetof(struct seccomp_data, args) + (action == IF_NOT_USER_1 ? 8 : 0))));
    /* Only the wide profile may make net namespaces: their neighbours are in the machine's table and cannot be counted for the node. */
    OP(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUSER | (action == IF_NOT_USER_0 && p != &wide ? CLONE_NEWNET : 0), 0, 1));
    RETURN(deny);
    RETURN(SECCOMP_RET_ALLOW);
    return;
  case IF_HARMLESS_IOCTL:
    LOAD(args[1]);
    for (size_t i = 0; i < ARRAY(denied_ioctls); i++) {
      UNLESS_EQUAL_SKIP(denied_ioctls[i], 1);
      RETURN(deny);
    }
    RETURN(SECCOMP_RET_ALLOW);
    return;
  case IF_NETWORK:
    LOAD(args[0]);
    return allow_only(p, families, ARRAY(families), SECCOMP_RET_ERRNO | EAFNOSUPPORT);
  case IF_SOCKET: return filter_socket(p);
  case IF_PERSONALITY:
    LOAD(args[0]);
    return allow_only(p, personalities, ARRAY(personalities), deny);
  case IF_OPTION:
    LOAD(args[1]);
    UNLESS_EQUAL_SKIP(SOL_SOCKET, 4);
    LOAD(args[2]);
    OP(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SO_RCVBUF, 1, 0));
    UNLESS_EQUAL_SKIP(SO_SNDBUF, 6);
    RETURN(SECCOMP_RET_USER_NOTIF);
    UNLESS_EQUAL_SKIP(263 /* SOL_PACKET */, 4);
    LOAD(args[2]);
    OP(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 5 /* PACKET_RX_RING */, 1, 0));
    UNLESS_EQUAL_SKIP(13 /* PACKET_TX_RING */, 1);
    RETURN(SECCOMP_RET_USER_NOTIF);
    RETURN(SECCOMP_RET_ALLOW);
    return;
  default:
    RETURN(deny);
  }
}

static void build(struct filter *p, enum action otherwise) {
  static enum action actions[CALLS];
  static struct span spans[CALLS + 1];
  unsigned places[ACTIONS];
  size_t count = 0;
  for (size_t i = 0; i < CALLS; i++) actions[i] = otherwise;
  for (size_t i = 0; i < allowed_call_count; i++) actions[allowed_calls[i]] = ALLOW;
  for (size_t i = 0; i < denied_call_count; i++) actions[denied_calls[i]] = DENY;
  for (size_t i = 0; i < ARRAY(other_rules); i++) actions[other_rules[i].call] = other_rules[i].action;
  for (unsigned i = 0; i < CALLS; i++)
    if (i == 0 || actions[i] != actions[i - 1]) spans[count++] = (struct span){i, actions[i]};
  if (spans[count - 1].action != otherwise) spans[count++] = (struct span){CALLS, otherwise};
  filter_begin(p);
  unsigned short search = p->length;
  filter_search(p, spans, 0, count);
  unsigned short end = p->length;
  /* Keeps the jump over the left half of a search short: the offset of a conditional jump is one byte. */
  if (end - search > 2 * UINT8_MAX) errno = E2BIG, unready("system call filter");
  for (int action = NO_CLONE3; action < ACTIONS; action++) {
    places[action] = p->length;
    filter_action(p, action);
  }
  if (p->full) errno = E2BIG, unready("system call filter");
  for (unsigned short i = search; i < end; i++)
    if (p->ops[i].code == JUMP_TO_ACTION) p->ops[i].k = places[p->ops[i].k] - i - 1;
}

/* Whether the machine had the AppArmor profile when the lab started. */
static bool has_profile;

/* Enters the AppArmor profile if it is loaded. */
static int enter_profile(void) {
  static const char wanted[] = "changeprofile " APPARMOR_PROFILE;
  if (!has_profile) return 0;
  int fd = open("/proc/thread-self/attr/apparmor/current", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  ssize_t done = write(fd, wanted, sizeof wanted - 1);
  int problem = errno;
  close(fd);
  errno = problem;
  /* An administrator may have removed the profile since. Nodes are then confined as on a machine without AppArmor. */
  return done >= 0 || errno == ENOENT ? 0 : -1;
}

void confine_init(void) {
  has_profile = getenv(APPARMOR_MARK) != NULL;
  build(&usual, UNKNOWN);
  build(&wide, ALLOW);
}

bool is_wide(const struct node *n) {
  for (char **e = n->env; e && *e; e++)
    if (!strcmp(*e, "LABWRIGHT_SYSTEM_CALLS=wide")) return true;
  return false;
}

int confine(const struct node *n) {
  uint64_t kept = 0;
  if (enter_profile() < 0) return -1;
  for (size_t i = 0; i < ARRAY(kept_capabilities); i++) kept |= 1ull << kept_capabilities[i];
  struct rlimit none = {0, 0}, file = {(rlim_t)n->max_file_bytes, (rlim_t)n->max_file_bytes};
  if (capabilities_bound(kept) < 0 || capabilities_set(kept) < 0) return -1;
  if (setrlimit(RLIMIT_CORE, &none) < 0) return -1;
  if (n->max_file_bytes && setrlimit(RLIMIT_FSIZE, &file) < 0) return -1;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return -1;
  const struct filter *calls = is_wide(n) ? &wide : &usual;
  struct sock_fprog filter = {.len = calls->length, .filter = (struct sock_filter *)(uintptr_t)calls->ops};
  int listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
  return listener < 0 ? -1 : rings_hand_over(n->id, listener);
}

int limit_descriptors(void) { return setrlimit(RLIMIT_NOFILE, &file_limit); }
