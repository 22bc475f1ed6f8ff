/* What a decoder that packets have taken over can still do: compute, read what it sees, and answer. */
#include "decoder.h"
#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static const unsigned allowed_calls[] = {
  SYS_read, SYS_readv, SYS_pread64, SYS_write, SYS_writev, SYS_close, SYS_openat, SYS_lseek, SYS_fstat, SYS_newfstatat, SYS_statx, SYS_faccessat,
  SYS_faccessat2, SYS_readlinkat, SYS_getdents64, SYS_getcwd, SYS_fadvise64, SYS_dup, SYS_dup3, SYS_fcntl, SYS_ppoll, SYS_pselect6, SYS_pipe2, SYS_eventfd2,
  SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_brk, SYS_membarrier, SYS_futex,
  SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_restart_syscall, SYS_set_robust_list, SYS_get_robust_list,
  SYS_set_tid_address, SYS_sched_yield, SYS_sched_getaffinity, SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday,
  SYS_getrusage, SYS_sysinfo, SYS_uname, SYS_getrandom, SYS_getpid, SYS_getppid, SYS_gettid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid,
  SYS_getresuid, SYS_getresgid, SYS_setresuid, SYS_setresgid, SYS_umask, SYS_exit, SYS_exit_group, SYS_execve,
#ifdef __x86_64__
  SYS_open, SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_dup2, SYS_poll, SYS_select, SYS_epoll_wait, SYS_arch_prctl, SYS_time, SYS_getrlimit,
#endif
#ifdef SYS_rseq
  SYS_rseq,
#endif
};

#define INSTRUCTION(...) filter[length++] = (struct sock_filter)__VA_ARGS__
#define LOAD(field) INSTRUCTION(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field)))
#define RETURN(value) INSTRUCTION(BPF_STMT(BPF_RET | BPF_K, value))
#define UNLESS_EQUAL_SKIP(value, skip) INSTRUCTION(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip))

static struct sock_filter filter[2 * sizeof allowed_calls / sizeof *allowed_calls + 64];
static unsigned short length;

/* Allows the call where the low half of one of its arguments has this value. */
static void allow_with(unsigned call, unsigned offset, unsigned value) {
  UNLESS_EQUAL_SKIP(call, 4);
  INSTRUCTION(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
  UNLESS_EQUAL_SKIP(value, 1);
  RETURN(SECCOMP_RET_ALLOW);
  LOAD(nr);
}

/* Default deny. Libraries take ENOSYS for an older kernel, and do without. */
static void make_filter(void) {
#if defined __x86_64__
  const unsigned arch = AUDIT_ARCH_X86_64;
#elif defined __aarch64__
  const unsigned arch = AUDIT_ARCH_AARCH64;
#else
#error "no seccomp architecture for this machine"
#endif
  const unsigned first = offsetof(struct seccomp_data, args[0]), second = offsetof(struct seccomp_data, args[1]);
  const unsigned thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
  LOAD(arch);
  INSTRUCTION(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arch, 1, 0));
  RETURN(SECCOMP_RET_KILL_PROCESS);
  LOAD(nr);
  for (size_t i = 0; i < sizeof allowed_calls / sizeof *allowed_calls; i++) {
    UNLESS_EQUAL_SKIP(allowed_calls[i], 1);
    RETURN(SECCOMP_RET_ALLOW);
  }
  allow_with(SYS_ioctl, second, 0x5401); /* TCGETS: is it a terminal */
  allow_with(SYS_prlimit64, first, 0);   /* of itself */
  allow_with(SYS_prctl, first, PR_SET_NAME);
  /* Threads, and no processes. */
  UNLESS_EQUAL_SKIP(SYS_clone, 5);
  INSTRUCTION(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, first));
  INSTRUCTION(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, thread));
  UNLESS_EQUAL_SKIP(thread, 1);
  RETURN(SECCOMP_RET_ALLOW);
  LOAD(nr);
  RETURN(SECCOMP_RET_ERRNO | ENOSYS);
}

static void bound(__rlimit_resource_t resource, rlim_t most) {
  struct rlimit both = {most, most};
  if (setrlimit(resource, &both) < 0) fail("resource limits");
}

void confine(long id) {
  bound(RLIMIT_AS, (rlim_t)2 << 30);
  bound(RLIMIT_CPU, 600);
  bound(RLIMIT_NOFILE, 64);
  bound(RLIMIT_FSIZE, 0);
  bound(RLIMIT_CORE, 0);
  bound(RLIMIT_MEMLOCK, 0);
  bound(RLIMIT_MSGQUEUE, 0);
  for (int cap = 0; cap < 64 && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++) continue;
  /* An ordinary user has no other id to become. */
  if (id > 0 && (setgroups(0, NULL) < 0 || setresgid((gid_t)id, (gid_t)id, (gid_t)id) < 0 || setresuid((uid_t)id, (uid_t)id, (uid_t)id) < 0)) fail("ids");
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct none[2] = {0};
  if (syscall(SYS_capset, &header, none) < 0) fail("capabilities");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) fail("no_new_privs");
  /* Another user's id, or fewer capabilities, make the kernel forget it: it is asked for after them. */
  if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0) fail("pdeathsig");
  make_filter();
  struct sock_fprog program = {.len = length, .filter = filter};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0) fail("seccomp");
}
