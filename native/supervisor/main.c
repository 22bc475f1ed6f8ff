/* The supervisor's start and its loop. */
#include "vm.h"
#include <poll.h>
#include <stdarg.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum { STEP_MS = 10, POWERDOWN_AGAIN_MS = 10000 /* a guest that was busy booting missed the first */ };

static struct config config;
static pid_t hypervisor;

void fail(const char *format, ...) {
  char words[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(words, sizeof words, format, args);
  va_end(args);
  dprintf(2, "labwright: %s\r\n", words);
  exit(1); /* the hypervisor, if it runs, ends with the supervisor */
}

/* The kernel must not send packets of its own from the node's interfaces, which belong to the guest. */
static void be_quiet(void) {
  static const char *const which[] = {"all", "default"};
  for (size_t i = 0; i < ARRAY(which); i++) {
    char path[96];
    snprintf(path, sizeof path, "/proc/sys/net/ipv6/conf/%s/disable_ipv6", which[i]);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) continue; /* a kernel without IPv6 */
    if (fd < 0 || write(fd, "1", 1) != 1) fail("%s: %s", path, strerror(errno));
    close(fd);
  }
}

static int pair(int *far) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) fail("socketpair: %s", strerror(errno));
  *far = ends[1];
  return ends[0];
}

/* Relays the guest's last output after the hypervisor's end. Bounded, so that a slow reader cannot keep the node from ending. */
static void drain_serial(void) {
  fcntl(terminal_fd, F_SETFL, 0);
  console_drain();
  for (int i = 0; i < 64 && serial_ready(); i++) console_drain();
}

/* Ends as the hypervisor did. */
static _Noreturn void end(void) {
  int status = 0;
  kill(hypervisor, SIGKILL); /* if it closed the connection without ending; a hypervisor that has ended keeps its exit code */
  while (waitpid(hypervisor, &status, 0) < 0 && errno == EINTR) {}
  drain_serial();
  exit(exit_code(status));
}

void boot_instead(void) {
  dprintf(2, "labwright: the kernel boots: its snapshot does not work\r\n");
  if (hypervisor > 0) kill(hypervisor, SIGKILL);
  while (hypervisor > 0 && waitpid(hypervisor, NULL, 0) < 0 && errno == EINTR) {}
  execl("/proc/self/exe", "vm", "boot-kernel", NULL);
  fail("vm: %s", strerror(errno));
}

static _Noreturn void end_after_hypervisor(void) {
  int status;
  if (snapshot_begins()) boot_instead();
  for (int i = 0; i < 200; i++) {
    pid_t pid = waitpid(hypervisor, &status, WNOHANG);
    if (pid == hypervisor) {
      drain_serial();
      exit(exit_code(status));
    }
    nanosleep(&(struct timespec){.tv_nsec = 25000000}, NULL);
  }
  end();
}

static void launch(void) {
  int keep[MAX_PORTS + 5], serial, monitor;
  size_t kept = 0;
  serial_fd = pair(&serial);
  qmp_fd = pair(&monitor);
  keep[kept++] = serial;
  keep[kept++] = monitor;
  config_arg(&config, "-chardev");
  config_arg(&config, "socket,id=serial,fd=%d", serial);
  config_arg(&config, "-serial");
  config_arg(&config, "chardev:serial");
  config_arg(&config, "-chardev");
  config_arg(&config, "socket,id=monitor,fd=%d", monitor);
  config_arg(&config, "-mon");
  config_arg(&config, "chardev=monitor,mode=control");
  config_arg(&config, "-S"); /* paused until its interfaces have the right carrier */
  if (config.append) {
    config_arg(&config, "-append");
    config_arg(&config, "%s tsc_early_khz=%lu", config.append, counter_khz());
  }
  ports_arguments(&config, keep, &kept);
  snapshot_memory(&config, keep, &kept);
  int state = state_open(&config);
  if (state >= 0) {
    config_arg(&config, "-incoming");
    if (snapshot_begins()) config_arg(&config, "defer");
    else config_arg(&config, "fd:%d", state), keep[kept++] = state;
  }
  hypervisor = start_hypervisor(config.args, keep, kept);
  if (hypervisor < 0) fail("the hypervisor: %s", strerror(errno));
  close(serial);
  close(monitor);
  fcntl(serial_fd, F_SETFL, O_NONBLOCK);
  if (!qmp_open()) end_after_hypervisor();
  if (snapshot_begins()) snapshot_load(state);
  if (state >= 0) close(state);
}

/* Ends the node if the guest's boot failed, as for a namespace node. The guest's last output stays on the console. */
static _Noreturn void end_failed(void) {
  kill(hypervisor, SIGKILL);
  while (waitpid(hypervisor, NULL, 0) < 0 && errno == EINTR) {}
  drain_serial();
  exit(guest_failed());
}

static void go_on(void) {
  ports_attach(&config);
  if (!qmp(-1, "{\"execute\":\"cont\"}")) dprintf(2, "labwright: the guest does not go on: %s\r\n", qmp_problem), end_after_hypervisor();
}

static int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int boot(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGWINCH);
  sigprocmask(SIG_SETMASK, &set, NULL);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGHUP, SIG_IGN); /* the node's init sends TERM too */
  umask(022);
  config_read(&config, CONFIG);
  be_quiet();
  console_open(config.ready, config.failed);
  make_disks(&config);
  make_config_drive(&config);
  ports_open(&config);
  control_open();
  int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals < 0) fail("signals: %s", strerror(errno));
  launch();
  bool running = false;
  int64_t powerdown = 0;
  for (;;) {
    if (!running && resuming()) resume_step();
    if (!running && !resuming()) running = true, go_on();
    if (hibernating()) hibernate_step();
    if (powerdown && running && !hibernating() && now_ms() >= powerdown) {
      if (config.own_kernel) guest_power_off();
      else qmp(-1, "{\"execute\":\"system_powerdown\"}");
      powerdown = now_ms() + POWERDOWN_AGAIN_MS;
    }
    ports_settle();
    struct pollfd p[] = {
      {.fd = qmp_fd, .events = POLLIN},
      {.fd = signals, .events = POLLIN},
      {.fd = link_fd, .events = POLLIN},
      {.fd = running ? control_fd : -1, .events = POLLIN},
      {.fd = serial_fd, .events = (short)((console_stuck() ? 0 : POLLIN) | (typing_stuck() ? POLLOUT : 0))},
      {.fd = terminal_fd, .events = (short)((typing_stuck() ? 0 : POLLIN) | (console_stuck() ? POLLOUT : 0))},
      {.fd = guest_fd, .events = POLLIN},
      {.fd = dhcp_fd, .events = POLLIN},
    };
    if (snapshot_late()) boot_instead();
    int wait = !running || hibernating() ? STEP_MS : powerdown || snapshot_begins() ? 1000 : -1;
    if (poll(p, ARRAY(p), wait) < 0 && errno != EINTR) fail("poll: %s", strerror(errno));
    if (p[4].revents & POLLOUT) typing_drain();
    if (p[4].revents & ~POLLOUT && !console_stuck() && !serial_ready()) serial_fd = -1;
    if (guest_failed()) end_failed();
    if (p[5].revents & POLLOUT) console_drain();
    if (p[5].revents & POLLIN) terminal_ready();
    if (p[1].revents) {
      struct signalfd_siginfo info;
      while (read(signals, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGWINCH) guest_window();
        else powerdown = powerdown ? powerdown : now_ms();
      }
    }
    if (p[2].revents) ports_events();
    if (p[6].revents) guest_events();
    if (p[7].revents && dhcp_fd >= 0) dhcp_ready();
    if (p[3].revents) control_ready();
    if (p[0].revents && !qmp_events()) end_after_hypervisor();
  }
}

int main(int argc, char **argv) {
  const char *command = argc == 2 ? argv[1] : "";
  if (!strcmp(command, "snapshot")) snapshot_prepare();
  if (!strcmp(command, "boot-kernel")) snapshot_refuse();
  if (!strcmp(command, "boot") || !strcmp(command, "boot-kernel") || !strcmp(command, "snapshot")) return boot();
  return tool(argc, argv);
}
