/*
 * Tries to get out of a node, as root in it, or with the argument `as <uid>` as that user without any capability. One line for each try: its name, and "refused" with errno, or "DONE" where it worked.
 * Those whose name begins with + must work: they show that the tries are real ones. Test program; isolation.test.ts runs it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

static char zeros[4096];

/* Each try runs in its own process, so that it cannot affect the next one. A killed process counts as refused. */
#define TRY(name, expression)                                                                 \
  do {                                                                                        \
    fflush(stdout);                                                                           \
    pid_t pid = fork();                                                                       \
    if (pid == 0) {                                                                           \
      alarm(5);                                                                               \
      errno = 0;                                                                              \
      long result = (long)(expression);                                                       \
      _exit(result >= 0 ? 0 : errno ? errno : 1);                                             \
    }                                                                                         \
    int status = 0;                                                                           \
    waitpid(pid, &status, 0);                                                                 \
    if (WIFSIGNALED(status)) printf("%s refused signal %d\n", name, WTERMSIG(status));        \
    else if (WEXITSTATUS(status)) printf("%s refused %s\n", name, strerrorname_np(WEXITSTATUS(status))); \
    else printf("%s DONE\n", name);                                                           \
  } while (0)

static int put(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  return fd < 0 ? -1 : (int)write(fd, text, strlen(text));
}

/* Reads the file's content: a masked file is empty. */
static int get(const char *path) {
  char text[16];
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);
  if (n == 0) errno = ENODATA;
  return n > 0 ? 0 : -1;
}

/* Returns whether the directory has entries. A masked directory has none. */
static int entries(const char *path) {
  char names[1024];
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  long n = fd < 0 ? -1 : syscall(SYS_getdents64, fd, names, sizeof names);
  if (n >= 0) errno = ENODATA;
  return n > 64 ? 0 : -1; /* . and .. take 48 bytes */
}

static int device(const char *path, mode_t kind, unsigned major_, unsigned minor_) {
  if (mknod(path, kind | 0600, makedev(major_, minor_)) < 0) return -1;
  return open(path, O_RDWR | O_NONBLOCK);
}

static int raise_capability(int capability) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct data[2];
  syscall(SYS_capget, &header, data);
  data[capability / 32].permitted |= 1u << capability % 32;
  data[capability / 32].effective |= 1u << capability % 32;
  return (int)syscall(SYS_capset, &header, data);
}

static int raise_limit(int which) {
  struct rlimit limit;
  getrlimit(which, &limit);
  if (limit.rlim_max == RLIM_INFINITY) return 0;
  limit.rlim_cur = limit.rlim_max = limit.rlim_max + 1;
  return setrlimit(which, &limit);
}

static int clone3_user(void) {
  struct { uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls; } args = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
  long pid = syscall(435, &args, sizeof args);
  if (pid == 0) _exit(0);
  return (int)pid;
}

static int join(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  return fd < 0 ? -1 : setns(fd, 0);
}

/* Root can leave a chroot, but not the node's own root file system. */
static int above_root(void) {
  struct stat top, here;
  stat("/", &top);
  mkdir("/tmp/cage", 0700);
  int out = open("/", O_RDONLY | O_DIRECTORY);
  if (chroot("/tmp/cage") < 0 || fchdir(out) < 0) return -1;
  for (int i = 0; i < 64; i++)
    if (chdir("..") < 0) return -1;
  stat(".", &here);
  errno = EXDEV;
  return here.st_ino == top.st_ino && here.st_dev == top.st_dev ? -1 : 0;
}

static int type_into(const char *path) {
  int fd = open(path, O_RDWR | O_NOCTTY);
  return fd < 0 ? -1 : ioctl(fd, 0x5412 /* TIOCSTI */, "x");
}

static int trace_init(void) {
  return (int)ptrace(PTRACE_SEIZE, 1, 0, 0);
}

static int read_init(void) {
  struct iovec here = {zeros, 8}, there = {(void *)0x400000, 8};
  return (int)process_vm_readv(1, &here, 1, &there, 1, 0);
}

static int fd_of_init(void) {
  int pid = (int)syscall(SYS_pidfd_open, 1, 0);
  return pid < 0 ? -1 : (int)syscall(438 /* pidfd_getfd */, pid, 3, 0);
}

static int handle(void) {
  struct { struct file_handle head; char room[128]; } h = {.head = {.handle_bytes = 8, .handle_type = 1}};
  ((uint32_t *)h.head.f_handle)[0] = 2; /* the root of an ext4 file system */
  return open_by_handle_at(open("/", O_RDONLY), &h.head, O_RDONLY);
}

/* Tries to change the machine's audit settings. */
static int audit(void) {
  struct { struct nlmsghdr header; uint32_t body[10]; } ask = {
    .header = {.nlmsg_len = sizeof ask, .nlmsg_type = 1001 /* AUDIT_SET */, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK}, .body = {1 /* AUDIT_STATUS_ENABLED */},
  };
  struct { struct nlmsghdr header; struct nlmsgerr error; char room[1024]; } answer;
  int fd = socket(AF_NETLINK, SOCK_RAW, 9 /* NETLINK_AUDIT */);
  if (fd < 0 || send(fd, &ask, sizeof ask, 0) < 0 || recv(fd, &answer, sizeof answer, 0) < 0) return -1;
  errno = -answer.error.error;
  return answer.error.error;
}

/* The kernel's device events for the machine's udev must not reach other net namespaces. */
static int uevents(void) {
  struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = 1};
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, 15 /* NETLINK_KOBJECT_UEVENT */);
  if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0) return -1;
  put("/sys/class/net/lo/uevent", "add");
  return (int)recv(fd, zeros, sizeof zeros, 0);
}

/* Makes a device in the current net namespace. */
static int make_tap(void) {
  struct ifreq r = {.ifr_name = "escape", .ifr_flags = 2 /* IFF_TAP */};
  int fd = open("/dev/net/tun", O_RDWR);
  return fd < 0 ? -1 : ioctl(fd, 0x400454ca /* TUNSETIFF */, &r);
}

/*
 * Sends a request about a link to the kernel, with one attribute, and returns 0 or -1 with errno. The other ends of a node's interfaces are in the fabric: the kernel numbers
 * that namespace, from 0, when it lists these interfaces.
 */
static int link_request(unsigned type, const char *name, unsigned attribute, const char *kind) {
  struct { struct nlmsghdr header; struct ifinfomsg link; char room[128]; } ask = {
    .header = {.nlmsg_len = NLMSG_LENGTH(sizeof ask.link), .nlmsg_type = (unsigned short)type, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | (kind ? NLM_F_CREATE | NLM_F_EXCL : 0)},
    .link = {.ifi_index = kind ? 0 : (int)if_nametoindex(name)},
  };
  struct { struct nlmsghdr header; struct nlmsgerr error; char room[8192]; } answer;
  struct rtattr *fabric = (void *)((char *)&ask + NLMSG_ALIGN(ask.header.nlmsg_len));
  fabric->rta_type = (unsigned short)attribute, fabric->rta_len = RTA_LENGTH(4);
  ask.header.nlmsg_len += RTA_SPACE(4);
  if (kind) {
    struct rtattr *info = (void *)((char *)&ask + ask.header.nlmsg_len), *word = RTA_DATA(info);
    word->rta_type = IFLA_INFO_KIND, word->rta_len = (unsigned short)RTA_LENGTH(strlen(kind));
    memcpy(RTA_DATA(word), kind, strlen(kind));
    info->rta_type = IFLA_LINKINFO, info->rta_len = (unsigned short)RTA_LENGTH(RTA_ALIGN(word->rta_len));
    ask.header.nlmsg_len += RTA_ALIGN(info->rta_len);
  }
  int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
  if (fd < 0 || send(fd, &ask, ask.header.nlmsg_len, 0) < 0 || recv(fd, &answer, sizeof answer, 0) < 0) return -1;
  if (answer.header.nlmsg_type != NLMSG_ERROR) return 0;
  errno = -answer.error.error;
  return answer.error.error;
}

/* Moves a device of the node to the namespace with the other ends of its links. */
static int move_to_fabric(void) { return make_tap() < 0 ? -1 : link_request(RTM_SETLINK, "escape", IFLA_TARGET_NETNSID, NULL); }

static int line_discipline(int number) {
  int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY);
  return fd < 0 ? -1 : ioctl(fd, TIOCSETD, &number);
}

static int become(uid_t user) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct none[2] = {0};
  for (int cap = 0; cap < 64; cap++) prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
  if (setgroups(0, NULL) < 0 || setresgid(user, user, user) < 0 || setresuid(user, user, user) < 0) return -1;
  return (int)syscall(SYS_capset, &header, none);
}

static int overlay_mark(const char *name, const char *value) {
  mkdir("/root/mark", 0700);
  return setxattr("/root/mark", name, value, strlen(value), 0);
}

int main(int argc, char **argv) {
  if (argc == 3 && !strcmp(argv[1], "as") && become((uid_t)atoi(argv[2])) < 0) return perror("escapes"), 1;
  struct timex clock = {.modes = ADJ_TICK, .tick = 10001};
  struct timespec now = {.tv_sec = 1};
  mkdir("/tmp/m", 0700);

  TRY("+socket-inet", socket(AF_INET, SOCK_DGRAM, 0));
  TRY("+socket-packet", socket(AF_PACKET, SOCK_RAW, 0));
  TRY("+chroot", chroot("/tmp"));
  TRY("+make-tap", make_tap());
  TRY("+write-own-file", put("/proc/self/comm", "x"));

  TRY("+link-of-node", link_request(RTM_GETLINK, "eth0", IFLA_EXT_MASK, NULL));

  TRY("move-device-to-fabric", move_to_fabric());
  TRY("link-of-fabric", link_request(RTM_GETLINK, "lo", IFLA_TARGET_NETNSID, NULL));
  TRY("device-over-fabric", link_request(RTM_NEWLINK, "", IFLA_LINK_NETNSID, "bridge"));
  TRY("unshare-net", unshare(CLONE_NEWNET));
  TRY("clone-net", syscall(SYS_clone, CLONE_NEWNET | SIGCHLD, 0, 0, 0, 0));
  TRY("mount-tmpfs", mount("none", "/tmp/m", "tmpfs", 0, NULL));
  TRY("mount-proc", mount("none", "/tmp/m", "proc", 0, NULL));
  TRY("mount-cgroup", mount("none", "/tmp/m", "cgroup", 0, "memory"));
  TRY("mount-cgroup2", mount("none", "/tmp/m", "cgroup2", 0, NULL));
  TRY("mount-overlay", mount("none", "/tmp/m", "overlay", 0, "lowerdir=/,upperdir=/tmp,workdir=/root"));
  TRY("mount-bind", mount("/", "/tmp/m", NULL, MS_BIND, NULL));
  TRY("remount-sys", mount(NULL, "/sys", NULL, MS_REMOUNT, NULL));
  TRY("remount-masked", mount(NULL, "/proc/irq", NULL, MS_REMOUNT | MS_BIND, NULL));
  TRY("umount-masked-file", umount2("/proc/sysrq-trigger", MNT_DETACH));
  TRY("umount-masked-directory", umount2("/proc/irq", MNT_DETACH));
  TRY("umount-proc", umount2("/proc", MNT_DETACH));
  TRY("propagation", mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL));
  TRY("pivot_root", syscall(SYS_pivot_root, ".", "."));
  TRY("fsopen", syscall(430, "proc", 0));
  TRY("open_tree", syscall(428, AT_FDCWD, "/", 1));
  TRY("move_mount", syscall(429, AT_FDCWD, "/tmp", AT_FDCWD, "/tmp/m", 0));
  TRY("mount_setattr", syscall(442, AT_FDCWD, "/sys", 0, zeros, 32));
  TRY("unshare-mount-and-mount", unshare(CLONE_NEWNS) < 0 ? -1 : mount("none", "/tmp/m", "tmpfs", 0, NULL));
  TRY("above-root", above_root());
  TRY("open_by_handle_at", handle());
  TRY("name_to_handle_at", syscall(SYS_name_to_handle_at, AT_FDCWD, "/", zeros, zeros, 0));
  TRY("overlay-trusted-xattr", overlay_mark("trusted.overlay.redirect", "/../../.."));
  TRY("file-capability", setxattr("/tmp/m", "security.capability", "\1\0\0\2\377\377\377\377\0\0\0\0\0\0\0\0\0\0\0\0", 20, 0));

  TRY("ptrace-init", trace_init());
  TRY("memory-of-init", open("/proc/1/mem", O_RDWR));
  TRY("process_vm_readv-init", read_init());
  TRY("root-of-init", open("/proc/1/root/etc", O_RDONLY));
  TRY("cwd-of-init", open("/proc/1/cwd/etc", O_RDONLY));
  TRY("descriptors-of-init", open("/proc/1/fd/3", O_RDWR));
  TRY("pidfd_getfd-init", fd_of_init());
  TRY("environment-of-init", get("/proc/1/environ"));
  TRY("program-of-init", open("/proc/1/exe", O_RDONLY));
  TRY("kill-init", kill(1, SIGKILL) < 0 ? -1 : (usleep(100000), errno = EPERM, -1)); /* ignored by the kernel: the next line shows that this process runs */

  TRY("sysctl-core_pattern", put("/proc/sys/kernel/core_pattern", "|/tmp/x"));
  TRY("sysctl-modprobe", put("/proc/sys/kernel/modprobe", "/tmp/x"));
  TRY("sysctl-drop_caches", put("/proc/sys/vm/drop_caches", "3"));
  TRY("sysctl-overcommit", put("/proc/sys/vm/overcommit_memory", "2"));
  TRY("sysctl-panic", put("/proc/sys/kernel/panic", "1"));
  TRY("sysctl-protected_hardlinks", put("/proc/sys/fs/protected_hardlinks", "0"));
  TRY("sysctl-user-namespaces", put("/proc/sys/user/max_net_namespaces", "0"));
  TRY("sysrq", put("/proc/sysrq-trigger", "h") < 0 ? -1 : get("/proc/sysrq-trigger")); /* the file is a mask, /dev/null */
  TRY("uevent_helper", put("/sys/kernel/uevent_helper", "/tmp/x"));
  TRY("sys-write", open("/sys/kernel/mm/ksm/run", O_WRONLY));
  TRY("cgroup-release_agent", put("/sys/fs/cgroup/release_agent", "/tmp/x"));
  TRY("cgroup-limits", open("/sys/fs/cgroup/memory/memory.limit_in_bytes", O_WRONLY));
  TRY("cgroup-limits-unified", open("/sys/fs/cgroup/memory.max", O_WRONLY));
  TRY("kcore", get("/proc/kcore"));
  TRY("kallsyms", get("/proc/kallsyms"));
  TRY("keys", get("/proc/keys"));
  TRY("kmsg", get("/proc/kmsg"));
  TRY("timer_list", get("/proc/timer_list"));
  TRY("command-line-of-the-machine", get("/proc/cmdline"));
  TRY("interrupts", get("/proc/interrupts"));
  TRY("iomem", get("/proc/iomem"));
  TRY("acpi-tables", entries("/sys/firmware"));
  TRY("kernel-types", entries("/sys/kernel/btf"));
  TRY("kernel-notes", get("/sys/kernel/notes"));
  TRY("vmcoreinfo", get("/sys/kernel/vmcoreinfo"));
  TRY("oom-immunity", put("/proc/self/oom_score_adj", "-1000"));

  TRY("init_module", syscall(SYS_init_module, zeros, sizeof zeros, ""));
  TRY("finit_module", syscall(SYS_finit_module, 0, "", 0));
  TRY("delete_module", syscall(SYS_delete_module, "x", 0));
  TRY("bpf", syscall(SYS_bpf, 0, zeros, 48));
  TRY("keyctl", syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 1));
  TRY("add_key", syscall(SYS_add_key, "user", "x", "x", 1, KEY_SPEC_SESSION_KEYRING));
  TRY("request_key", syscall(SYS_request_key, "user", "x", "", 0));
  TRY("perf_event_open", syscall(SYS_perf_event_open, zeros, 0, -1, -1, 0));
  TRY("userfaultfd", syscall(SYS_userfaultfd, 1));
  TRY("io_uring_setup", syscall(425, 1, zeros));
  TRY("kexec_load", syscall(SYS_kexec_load, 0, 0, NULL, 0));
  TRY("reboot", reboot(RB_DISABLE_CAD));
  TRY("swapon", syscall(SYS_swapon, "/tmp/m", 0));
  TRY("acct", syscall(SYS_acct, "/tmp/m"));
  TRY("syslog", syscall(SYS_syslog, 10, NULL, 0));
  TRY("settimeofday", clock_settime(CLOCK_REALTIME, &now));
  TRY("adjtimex", adjtimex(&clock));
  TRY("quotactl", syscall(SYS_quotactl, 0, NULL, 0, NULL));
  TRY("fanotify", syscall(SYS_fanotify_init, 0, 0));
#ifdef __x86_64__
  TRY("iopl", syscall(SYS_iopl, 3));
  TRY("x32-call", syscall(0x40000000 | SYS_getpid));
#endif

  TRY("personality-exec-reads", syscall(SYS_personality, 0x0400000 /* READ_IMPLIES_EXEC */));
  TRY("personality-no-random-addresses", syscall(SYS_personality, 0x0040000 /* ADDR_NO_RANDOMIZE */));
  TRY("+personality-linux32", syscall(SYS_personality, 8 /* PER_LINUX32 */));
  TRY("aio", syscall(SYS_io_setup, 1, zeros));
  TRY("unknown-call", syscall(505));
  TRY("listmount", syscall(458, zeros, zeros, 1, 0));
  TRY("memfd_secret", syscall(447, 0));
  TRY("unshare-user", unshare(CLONE_NEWUSER));
  TRY("clone-user", syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
  TRY("clone3-user", clone3_user());
  TRY("setns-user", join("/proc/self/ns/user"));
  TRY("setns-of-init", join("/proc/1/ns/mnt"));
  TRY("capability-sys_module", raise_capability(CAP_SYS_MODULE));
  TRY("capability-sys_rawio", raise_capability(CAP_SYS_RAWIO));
  TRY("capability-mknod", raise_capability(CAP_MKNOD));
  TRY("capability-sys_ptrace", raise_capability(CAP_SYS_PTRACE));
  TRY("capability-dac_read_search", raise_capability(CAP_DAC_READ_SEARCH));
  TRY("new-privileges", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? (errno = EPERM, -1) : 0);
  TRY("limit-files", raise_limit(RLIMIT_NOFILE));
  TRY("limit-processes", raise_limit(RLIMIT_NPROC));
  TRY("limit-file-size", raise_limit(RLIMIT_FSIZE));
  TRY("real-time", sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1}));

  TRY("device-disk", device("/tmp/disk", S_IFBLK, 254, 0));
  TRY("device-memory", device("/tmp/mem", S_IFCHR, 1, 1));
  TRY("device-kmsg", device("/tmp/kmsg", S_IFCHR, 1, 11));
  TRY("device-on-dev", device("/dev/disk", S_IFBLK, 254, 0));
  TRY("open-mem", open("/dev/mem", O_RDONLY));
  TRY("open-kmsg", open("/dev/kmsg", O_RDONLY));
  TRY("open-kvm", open("/dev/kvm", O_RDWR));
  TRY("open-fuse", open("/dev/fuse", O_RDWR));
  TRY("open-loop", open("/dev/loop-control", O_RDWR));
  TRY("open-vhost", open("/dev/vhost-net", O_RDWR));

  TRY("line-discipline-gsm", line_discipline(21));
  TRY("line-discipline-hdlc", line_discipline(13));
  TRY("netlink-audit", audit());
  TRY("netlink-uevents", uevents());
  TRY("debugfs", open("/sys/kernel/debug/sched", O_RDONLY));
  TRY("tracefs", open("/sys/kernel/tracing/trace", O_RDONLY));
  TRY("efivars", open("/sys/firmware/efi/efivars", O_RDONLY));
  TRY("pages-of-the-machine", get("/proc/kpageflags"));
  TRY("vmallocinfo", get("/proc/vmallocinfo"));
  TRY("slabinfo", get("/proc/slabinfo"));
  TRY("io-ports", get("/proc/ioports") < 0 ? -1 : open("/dev/port", O_RDWR));

  TRY("socket-vsock", socket(40, SOCK_STREAM, 0));
  TRY("socket-alg", socket(38, SOCK_SEQPACKET, 0));
  TRY("socket-can", socket(29, SOCK_RAW, 1));
  TRY("socket-bluetooth", socket(31, SOCK_RAW, 1));
  TRY("socketpair-tipc", socketpair(30, SOCK_RDM, 0, (int *)zeros));
  TRY("type-into-console", type_into("/dev/console"));
  TRY("type-into-terminal", type_into("/dev/pts/0"));
  return 0;
}
