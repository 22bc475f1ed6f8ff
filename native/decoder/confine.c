/* Confines the decoder: even if a packet takes it over, it can only compute, read the files that it sees, and answer. */
#include "../common/seccomp.h"
#include "decoder.h"
#include <errno.h>
#include <grp.h>
#include <linux/prctl.h>
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

static struct filter filter;

/* Allows the call if the low half of one of its arguments has this value. */
static void allow_with(unsigned call, unsigned offset, unsigned value) {
  FILTER_UNLESS_EQUAL_SKIP(&filter, call, 4);
  FILTER_OP(&filter, BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
  FILTER_UNLESS_EQUAL_SKIP(&filter, value, 1);
  FILTER_RETURN(&filter, SECCOMP_RET_ALLOW);
  FILTER_LOAD(&filter, nr);
}

/* Refuses by default, with ENOSYS: libraries then assume an older kernel and work without the call. */
static void make_filter(void) {
  const unsigned first = offsetof(struct seccomp_data, args[0]), second = offsetof(struct seccomp_data, args[1]);
  const unsigned thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
  filter_begin(&filter);
  for (size_t i = 0; i < sizeof allowed_calls / sizeof *allowed_calls; i++) {
    FILTER_UNLESS_EQUAL_SKIP(&filter, allowed_calls[i], 1);
    FILTER_RETURN(&filter, SECCOMP_RET_ALLOW);
  }
  allow_with(SYS_ioctl, second, 0x5401); /* TCGETS: is it a terminal */
  allow_with(SYS_prlimit64, first, 0);   /* of itself */
  allow_with(SYS_prctl, first, PR_SET_NAME);
  /* Threads, but no processes. */
  FILTER_UNLESS_EQUAL_SKIP(&filter, SYS_clone, 5);
  FILTER_LOAD(&filter, args[0]);
  FILTER_OP(&filter, BPF_STMT(BPF_ALU | BPF_AND | BPF_K, thread));
  FILTER_UNLESS_EQUAL_SKIP(&filter, thread, 1);
  FILTER_RETURN(&filter, SECCOMP_RET_ALLOW);
  FILTER_LOAD(&filter, nr);
  FILTER_RETURN(&filter, SECCOMP_RET_ERRNO | ENOSYS);
  if (filter.full) errno = E2BIG, fail("build the system call filter");
}

static void limit(__rlimit_resource_t resource, rlim_t max) {
  struct rlimit both = {max, max};
  if (setrlimit(resource, &both) < 0) fail("set resource limits");
}

void confine(long id) {
  limit(RLIMIT_AS, (rlim_t)2 << 30);
  limit(RLIMIT_CPU, 600);
  limit(RLIMIT_NOFILE, 64);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_MEMLOCK, 0);
  limit(RLIMIT_MSGQUEUE, 0);
  (void)!capabilities_bound(0); /* fails only for a process without CAP_SETPCAP, which has no capabilities to lose */
  /* Only root must change its ids: an ordinary user has no others. */
  if (id > 0 && (setgroups(0, NULL) < 0 || setresgid((gid_t)id, (gid_t)id, (gid_t)id) < 0 || setresuid((uid_t)id, (uid_t)id, (uid_t)id) < 0)) fail("change user and group ids");
  if (capabilities_set(0) < 0) fail("drop capabilities");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) fail("set no_new_privs");
  /* Set last: the kernel resets it when the user id or the capabilities change. */
  if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0) fail("set the parent death signal");
  make_filter();
  struct sock_fprog program = {.len = filter.length, .filter = filter.ops};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0) fail("install the seccomp filter");
}
