/* The lab's init: pid 1 of the lab's pid namespace. */
#include "lab.h"
#include "id-range.h"
#include "init.h"
#include "node.h"
#include "rings.h"
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

struct source listener = {.fd = LISTEN_FD};
char *lab;
int own_pid_ns;
unsigned long proc_times, sys_times;
struct rlimit file_limit;
static struct source signals;
static char *mark; /* the command line's last argument */
static size_t mark_room;

/* Overwrites the last argument of the command line, so that ps shows whose process this is. */
void mark_process(const char *text) {
  memset(mark, 0, mark_room);
  strncpy(mark, text, mark_room - 1);
}

static void signals_ready(struct source *s, uint32_t events) {
  struct signalfd_siginfo info;
  (void)events;
  while (read(s->fd, &info, sizeof info) == sizeof info)
    if (info.ssi_signo == SIGTERM) _exit(0); /* the machine shuts down */
  int status;
  pid_t pid;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    struct job *j = jobs;
    while (j && j->pid != pid) j = j->next;
    if (j) job_died(j, status);
    if (j || signaller_died(pid)) continue;
    for (size_t i = 0; i < node_count; i++)
      if (nodes[i]->pid == pid) {
        node_died(nodes[i], status);
        break;
      }
  }
}

_Noreturn void unready(const char *step) {
  dprintf(READY_FD, "%s: %s", step, strerror(errno));
  dprintf(2, "%s: %s\n", step, strerror(errno));
  _exit(71);
}

_Noreturn void lab_init(char **argv) {
  lab = strchr(argv[1], '=') + 1;
  mark = argv[2];
  mark_room = strlen(mark) + 1;
  only_own_id = strncmp(mark, "init-own", 8) == 0;
  mark_process("init");
  prctl(PR_SET_NAME, "labwright-lab", 0, 0, 0);
  /* Nodes share our user id. Without this, a node's root could trace its init, whose memory contains data of other nodes. */
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) unready("prctl");
  /* Unmounts on the machine propagate to the lab. Mounts of the lab never propagate to the machine. */
  if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0) unready("mount propagation");
  const unsigned long quiet = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  proc_times = access_time_flags("/proc"), sys_times = access_time_flags("/sys");
  if (mount("proc", "/proc", "proc", quiet | proc_times, NULL) < 0) unready("mount /proc");
  if (mount("sysfs", "/sys", "sysfs", quiet | sys_times, NULL) < 0) unready("mount /sys");
  if (mount("tmpfs", "/" EMPTY_DIRECTORY, "tmpfs", quiet | MS_RDONLY, "size=4k,nr_inodes=2,mode=555") < 0) unready("mount an empty directory");
  if (loopback_up() < 0) unready("interface lo");
  groups_init();
  fcntl(RANGE_FD, F_SETFD, FD_CLOEXEC);
  confine_init();
  make_root_init();
  if (rings_init() < 0) unready("packet rings");
  if (!range_init()) unready("read /proc/self/uid_map");
  own_pid_ns = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
  epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, SIGTERM);
  sigprocmask(SIG_SETMASK, &set, NULL);
  signal(SIGPIPE, SIG_IGN);
  signals = (struct source){.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), .ready = signals_ready};
  if (own_pid_ns < 0 || epoll_fd < 0 || signals.fd < 0) unready("event loop");
  getrlimit(RLIMIT_NOFILE, &file_limit);
  struct rlimit highest = {file_limit.rlim_max, file_limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &highest);
  /* Less than the holder has while it makes a node: limit_descriptors. */
  file_limit.rlim_max /= 2;
  if (file_limit.rlim_cur > 1024) file_limit.rlim_cur = 1024; /* programs that close every possible descriptor */
  source_watch(&rings_line, EPOLLIN);
  source_watch(&signals, EPOLLIN);
  listener.ready = listener_ready;
  source_watch(&listener, EPOLLIN);
  if (write(READY_FD, "", 1) != 1) _exit(71);
  close(READY_FD);

  for (;;) {
    struct epoll_event events[64];
    struct client *spawning = clients;
    while (spawning && spawning->mode != SPAWNING) spawning = spawning->next;
    int count = epoll_wait(epoll_fd, events, ARRAY(events), spawning ? 0 : timers_wait());
    for (int i = 0; i < count; i++) {
      struct source *s = events[i].data.ptr;
      if (s->fd >= 0 && s->events) s->ready(s, events[i].events);
    }
    timers_fire();
    handle_deferred();
    jobs_sweep();
    if (spawning && spawning->mode == SPAWNING) spawn_some(spawning);
    free_pending();
  }
}
