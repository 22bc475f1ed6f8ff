/* The lists of calls.h. A call in neither list does not exist for nodes (ENOSYS), unless their template has the wide profile. */
#include "calls.h"
#include <sys/syscall.h>

const unsigned allowed_calls[] = {
  /* files by descriptor */
  SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_preadv, SYS_pwritev, SYS_preadv2, SYS_pwritev2, SYS_lseek, SYS_close,
  SYS_close_range, SYS_dup, SYS_dup3, SYS_pipe2, SYS_fcntl, SYS_flock, SYS_ftruncate, SYS_fallocate, SYS_fsync, SYS_fdatasync, SYS_syncfs,
  SYS_sync_file_range, SYS_readahead, SYS_fadvise64, 451 /* cachestat */, SYS_copy_file_range, SYS_sendfile, SYS_splice, SYS_tee, SYS_vmsplice,
  SYS_fstat, SYS_fstatfs, SYS_fchdir, SYS_fchmod, SYS_fchown, SYS_getdents64, SYS_fgetxattr, SYS_fsetxattr, SYS_flistxattr, SYS_fremovexattr,
  /* files by name */
  SYS_openat, SYS_openat2, SYS_newfstatat, SYS_statx, SYS_statfs, SYS_faccessat, SYS_faccessat2, SYS_readlinkat, SYS_mkdirat, SYS_mknodat,
  SYS_unlinkat, SYS_linkat, SYS_symlinkat, SYS_renameat, SYS_renameat2, SYS_fchmodat, 452 /* fchmodat2 */, SYS_fchownat, SYS_utimensat, SYS_truncate,
  SYS_chdir, SYS_chroot, SYS_getcwd, SYS_umask, SYS_sync, SYS_getxattr, SYS_setxattr, SYS_listxattr, SYS_removexattr, SYS_lgetxattr, SYS_lsetxattr,
  SYS_llistxattr, SYS_lremovexattr, 463 /* setxattrat */, 464 /* getxattrat */, 465 /* listxattrat */, 466 /* removexattrat */,
  /* waiting and events */
  SYS_ppoll, SYS_pselect6, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_epoll_pwait2, SYS_eventfd2, SYS_signalfd4, SYS_timerfd_create,
  SYS_timerfd_settime, SYS_timerfd_gettime, SYS_inotify_init1, SYS_inotify_add_watch, SYS_inotify_rm_watch, SYS_fanotify_mark,
  /* processes and threads */
  SYS_execve, SYS_execveat, SYS_exit, SYS_exit_group, SYS_wait4, SYS_waitid, SYS_set_tid_address, SYS_set_robust_list, SYS_get_robust_list, SYS_futex,
  SYS_futex_waitv, 454 /* futex_wake */, 455 /* futex_wait */, 456 /* futex_requeue */, SYS_rseq, SYS_membarrier, SYS_gettid, SYS_getpid, SYS_getppid,
  SYS_getpgid, SYS_setpgid, SYS_getsid, SYS_setsid, SYS_getpriority, SYS_setpriority, SYS_sched_yield, SYS_sched_getparam, SYS_sched_setparam,
  SYS_sched_getscheduler, SYS_sched_setscheduler, SYS_sched_getattr, SYS_sched_setattr, SYS_sched_getaffinity, SYS_sched_setaffinity,
  SYS_sched_get_priority_max, SYS_sched_get_priority_min, SYS_sched_rr_get_interval, SYS_ioprio_get, SYS_ioprio_set, SYS_prctl, SYS_ptrace, SYS_seccomp,
  SYS_getrusage, SYS_prlimit64, SYS_getrlimit, SYS_setrlimit, SYS_getcpu, SYS_pidfd_open, SYS_pidfd_send_signal, SYS_pidfd_getfd,
  SYS_process_mrelease, SYS_landlock_create_ruleset, SYS_landlock_add_rule, SYS_landlock_restrict_self,
  /* users */
  SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getresuid, SYS_getresgid, SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid,
  SYS_setresgid, SYS_setfsuid, SYS_setfsgid, SYS_getgroups, SYS_setgroups, SYS_capget, SYS_capset,
  /* signals */
  SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigpending, SYS_rt_sigsuspend, SYS_rt_sigtimedwait,
  SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_sigaltstack, SYS_restart_syscall,
  /* memory */
  SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_msync, SYS_mincore, SYS_mlock, SYS_mlock2, SYS_munlock, SYS_mlockall,
  SYS_munlockall, SYS_memfd_create, SYS_remap_file_pages, SYS_pkey_alloc, SYS_pkey_free, SYS_pkey_mprotect, SYS_get_mempolicy, SYS_set_mempolicy,
  SYS_mbind, 453 /* map_shadow_stack */, 462 /* mseal */,
  /* time and the system */
  SYS_nanosleep, SYS_clock_nanosleep, SYS_clock_gettime, SYS_clock_getres, SYS_gettimeofday, SYS_getitimer, SYS_setitimer, SYS_timer_create,
  SYS_timer_settime, SYS_timer_gettime, SYS_timer_getoverrun, SYS_timer_delete, SYS_times, SYS_uname, SYS_sysinfo, SYS_getrandom, SYS_sethostname,
  SYS_setdomainname,
  /* sockets */
  SYS_bind, SYS_listen, SYS_accept, SYS_accept4, SYS_connect, SYS_getsockname, SYS_getpeername, SYS_sendto, SYS_recvfrom, SYS_sendmsg, SYS_recvmsg,
  SYS_sendmmsg, SYS_recvmmsg, SYS_getsockopt, SYS_shutdown,
  /* IPC */
  SYS_msgget, SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_semget, SYS_semop, SYS_semtimedop, SYS_semctl, SYS_shmget, SYS_shmat, SYS_shmdt, SYS_shmctl,
  SYS_mq_open, SYS_mq_unlink, SYS_mq_timedsend, SYS_mq_timedreceive, SYS_mq_notify, SYS_mq_getsetattr,
#ifdef __x86_64__
  /* older forms of the same calls, which arm64 never had */
  SYS_open, SYS_creat, SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_mkdir, SYS_mknod, SYS_rmdir, SYS_unlink, SYS_link, SYS_symlink, SYS_rename,
  SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat, SYS_getdents, SYS_dup2, SYS_pipe, SYS_poll, SYS_select, SYS_epoll_create,
  SYS_epoll_wait, SYS_eventfd, SYS_signalfd, SYS_inotify_init, SYS_fork, SYS_vfork, SYS_getpgrp, SYS_alarm, SYS_pause, SYS_time, SYS_arch_prctl,
#endif
};
const size_t allowed_call_count = ARRAY(allowed_calls);

const unsigned denied_calls[] = {
  SYS_kexec_load, SYS_kexec_file_load, SYS_bpf, SYS_keyctl, SYS_add_key, SYS_request_key, SYS_init_module, SYS_finit_module,
  SYS_delete_module, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_open_tree, SYS_move_mount, SYS_fsopen,
  SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_mount_setattr, 467 /* open_tree_attr */, SYS_perf_event_open,
  SYS_userfaultfd, SYS_swapon, SYS_swapoff, SYS_reboot, SYS_open_by_handle_at, SYS_name_to_handle_at, SYS_quotactl,
  SYS_quotactl_fd, SYS_acct, SYS_syslog, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
  SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex, SYS_lookup_dcookie, SYS_nfsservctl, SYS_vhangup,
  SYS_fanotify_init, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_move_pages, SYS_migrate_pages,
#ifdef __x86_64__
  SYS_iopl, SYS_ioperm, SYS_uselib, SYS_sysfs, SYS__sysctl, SYS_ustat, SYS_modify_ldt,
#endif
};
const size_t denied_call_count = ARRAY(denied_calls);
