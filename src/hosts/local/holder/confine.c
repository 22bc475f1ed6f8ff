/* What a root in a node may not do. */
#include "node.h"
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* What routers, hosts and their tools use of root's powers. zebra and its kin refuse to start without SYS_ADMIN. */
static const int kept_capabilities[] = {
  CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID, CAP_KILL, CAP_SETGID, CAP_SETUID, CAP_SETPCAP, CAP_NET_BIND_SERVICE,
  CAP_NET_BROADCAST, CAP_NET_ADMIN, CAP_NET_RAW, CAP_IPC_LOCK, CAP_SYS_CHROOT, CAP_SYS_ADMIN, CAP_SYS_NICE, CAP_SYS_RESOURCE,
  CAP_AUDIT_WRITE,
};

/* Kernel surface that no node needs. By number where headers may be older than the call (numbers from 424 on are the same everywhere). */
static const unsigned denied_calls[] = {
  SYS_kexec_load, SYS_kexec_file_load, SYS_bpf, SYS_keyctl, SYS_add_key, SYS_request_key, SYS_init_module, SYS_finit_module,
  SYS_delete_module, SYS_mount, SYS_umount2, SYS_pivot_root, 428 /* open_tree */, 429 /* move_mount */, 430 /* fsopen */,
  431 /* fsconfig */, 432 /* fsmount */, 433 /* fspick */, 442 /* mount_setattr */, 467 /* open_tree_attr */, SYS_perf_event_open,
  SYS_userfaultfd, SYS_swapon, SYS_swapoff, SYS_reboot, SYS_open_by_handle_at, SYS_name_to_handle_at, SYS_quotactl,
  443 /* quotactl_fd */, SYS_acct, SYS_syslog, 425 /* io_uring_setup */, 426 /* io_uring_enter */, 427 /* io_uring_register */,
  SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex, SYS_lookup_dcookie, SYS_nfsservctl, SYS_vhangup,
  SYS_fanotify_init, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_move_pages, SYS_migrate_pages,
#ifdef __x86_64__
  SYS_iopl, SYS_ioperm, SYS_uselib, SYS_sysfs, SYS__sysctl, SYS_ustat, SYS_modify_ldt,
#endif
};

/* The families of networks that are emulated here. Any other is kernel code that a node could load and try; AF_VSOCK moreover reaches the
 * hypervisor past every net namespace. */
static const unsigned families[] = {1 /* UNIX */, 2 /* INET */, 10 /* INET6 */, 15 /* KEY */, 16 /* NETLINK */, 17 /* PACKET */, 24 /* PPPOX */};

/* Typing into a terminal for others; selecting and pasting on the machine's console; line disciplines, which are modules that the kernel would load. */
static const unsigned denied_ioctls[] = {0x5412 /* TIOCSTI */, 0x541c /* TIOCLINUX */, 0x5423 /* TIOCSETD */};

enum action { DENY, NO_CLONE3, IF_NOT_USER_0, IF_NOT_USER_1, IF_HARMLESS_IOCTL, IF_NETWORK, ACTIONS };
struct rule { unsigned call; enum action action; };

static const struct rule other_rules[] = {
  {SYS_clone3, NO_CLONE3}, {SYS_clone, IF_NOT_USER_0}, {SYS_unshare, IF_NOT_USER_0}, {SYS_setns, IF_NOT_USER_1},
  {SYS_ioctl, IF_HARMLESS_IOCTL}, {SYS_socket, IF_NETWORK}, {SYS_socketpair, IF_NETWORK},
};

static struct rule rules[ARRAY(denied_calls) + ARRAY(other_rules)];
static struct sock_filter filter[2 * ARRAY(rules) + 64];
static unsigned short filter_length;

#define OP(...) filter[filter_length++] = (struct sock_filter)__VA_ARGS__
#define LOAD(field) OP(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field)))
#define RETURN(value) OP(BPF_STMT(BPF_RET | BPF_K, value))
#define UNLESS_EQUAL_SKIP(value, skip) OP(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip))

/* Finds the call among rules[from…to) by halves: the kernel tries a new filter with every number there is, which otherwise takes longer than all
 * else of confining. A match goes to its action, whose place is not known yet. */
static void filter_search(size_t from, size_t to) {
  if (to - from > 4) {
    size_t middle = (from + to) / 2;
    unsigned short branch = filter_length;
    OP(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, rules[middle].call, 0, 0));
    filter_search(from, middle);
    filter[branch].jt = (unsigned char)(filter_length - branch - 1);
    return filter_search(middle, to);
  }
  for (size_t i = from; i < to; i++) OP(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, rules[i].call, (unsigned char)rules[i].action, 0));
  RETURN(SECCOMP_RET_ALLOW);
}

static void filter_action(enum action action) {
  const unsigned deny = SECCOMP_RET_ERRNO | EPERM;
  switch (action) {
  case NO_CLONE3: /* its flags are in memory, out of a filter's sight; libraries then use clone */
    RETURN(SECCOMP_RET_ERRNO | ENOSYS);
    return;
  case IF_NOT_USER_0:
  case IF_NOT_USER_1:
    OP(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)(offsetof(struct seccomp_data, args) + (action == IF_NOT_USER_1 ? 8 : 0))));
    OP(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUSER, 0, 1));
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
    for (size_t i = 0; i < ARRAY(families); i++) {
      UNLESS_EQUAL_SKIP(families[i], 1);
      RETURN(SECCOMP_RET_ALLOW);
    }
    RETURN(SECCOMP_RET_ERRNO | EAFNOSUPPORT);
    return;
  default:
    RETURN(deny);
  }
}

static int by_call(const void *a, const void *b) {
  const struct rule *x = a, *y = b;
  return x->call < y->call ? -1 : x->call > y->call;
}

void confine_init(void) {
#if defined __x86_64__
  const unsigned arch = AUDIT_ARCH_X86_64;
#elif defined __aarch64__
  const unsigned arch = AUDIT_ARCH_AARCH64;
#else
#error "no seccomp architecture for this machine"
#endif
  for (size_t i = 0; i < ARRAY(denied_calls); i++) rules[i] = (struct rule){denied_calls[i], DENY};
  memcpy(rules + ARRAY(denied_calls), other_rules, sizeof other_rules);
  qsort(rules, ARRAY(rules), sizeof *rules, by_call);
  LOAD(arch);
  OP(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arch, 1, 0));
  RETURN(SECCOMP_RET_KILL_PROCESS);
  LOAD(nr);
  OP(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1)); /* x32 */
  RETURN(SECCOMP_RET_KILL_PROCESS);
  unsigned short search = filter_length;
  filter_search(0, ARRAY(rules));
  unsigned short end = filter_length, places[ACTIONS];
  for (int action = 0; action < ACTIONS; action++) {
    places[action] = filter_length;
    filter_action(action);
  }
  /* No jump is longer than a byte can tell: the whole filter is not. */
  _Static_assert(ARRAY(filter) <= 255, "the filter's jumps are too long");
  for (unsigned short i = search; i < end; i++)
    if (filter[i].code == (BPF_JMP | BPF_JEQ | BPF_K)) filter[i].jt = (unsigned char)(places[filter[i].jt] - i - 1);
}

int confine(const struct node *n) {
  uint64_t kept = 0;
  for (size_t i = 0; i < ARRAY(kept_capabilities); i++) kept |= 1ull << kept_capabilities[i];
  for (int cap = 0; cap < 64; cap++) {
    if (kept >> cap & 1 || prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0) continue;
    if (errno != EINVAL) return -1;
    break; /* past the kernel's last */
  }
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct caps[2] = {
    {.effective = (uint32_t)kept, .permitted = (uint32_t)kept},
    {.effective = (uint32_t)(kept >> 32), .permitted = (uint32_t)(kept >> 32)},
  };
  struct sock_fprog program = {.len = filter_length, .filter = filter};
  struct rlimit none = {0, 0}, file = {(rlim_t)n->largest_file, (rlim_t)n->largest_file};
  if (syscall(SYS_capset, &header, caps) < 0 || setrlimit(RLIMIT_CORE, &none) < 0 || setrlimit(RLIMIT_NOFILE, &file_limit) < 0) return -1;
  if (n->largest_file && setrlimit(RLIMIT_FSIZE, &file) < 0) return -1;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return -1;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}
