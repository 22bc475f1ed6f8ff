#include "seccomp.h"
#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "no seccomp architecture for this machine"
#endif

enum { X32_CALLS = 0x40000000 /* the first number of x32's calls */ };

void filter_add(struct filter *f, struct sock_filter op) {
  f->full = f->full || f->length == MAX_FILTER_OPS;
  if (!f->full) f->ops[f->length++] = op;
}

void filter_begin(struct filter *f) {
  FILTER_LOAD(f, arch);
  FILTER_OP(f, BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
  FILTER_RETURN(f, SECCOMP_RET_KILL_PROCESS);
  FILTER_LOAD(f, nr);
  FILTER_OP(f, BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_CALLS, 0, 1));
  FILTER_RETURN(f, SECCOMP_RET_KILL_PROCESS);
}

int capabilities_bound(uint64_t kept) {
  for (int cap = 0; cap < 64; cap++) {
    if (kept >> cap & 1 || prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0) continue;
    return errno == EINVAL ? 0 : -1; /* EINVAL: past the kernel's last capability */
  }
  return 0;
}

int capabilities_set(uint64_t kept) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct caps[2] = {
    {.effective = (uint32_t)kept, .permitted = (uint32_t)kept},
    {.effective = (uint32_t)(kept >> 32), .permitted = (uint32_t)(kept >> 32)},
  };
  return (int)syscall(SYS_capset, &header, caps);
}
