/* Commands that the service runs: ready [<program>], run <program>, hibernate and relay <socket> in the node, probe-kvm on the machine. */
#include "vm.h"
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { STEP_MS = 25, BEGIN_MS = 120000 /* a busy machine: until the supervisor listens, the node may be called running already */ };

/* @param patience in ms, for a socket that does not listen yet */
static int reach(const char *path, int patience) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  for (; fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) < 0; patience -= STEP_MS) {
    bool not_yet = errno == ENOENT || errno == ECONNREFUSED;
    if (!not_yet || patience <= 0) {
      dprintf(2, "%s: %s\n", path, strerror(errno));
      exit(1);
    }
    usleep(STEP_MS * 1000);
  }
  if (fd < 0) dprintf(2, "%s: %s\n", path, strerror(errno)), exit(1);
  return fd;
}

static int hibernate(void) {
  char words[4096];
  size_t length = 0;
  int fd = reach(CONTROL_SOCKET, BEGIN_MS);
  for (ssize_t got; length < sizeof words - 1 && (got = read(fd, words + length, sizeof words - 1 - length)) > 0;) length += (size_t)got;
  words[length] = 0;
  if (!strcmp(words, "saved")) return 0;
  dprintf(2, "%s\n", length ? words : "the virtual machine ended");
  return 1;
}

static bool pass(int from, int to) {
  char bytes[16384];
  ssize_t got = read(from, bytes, sizeof bytes);
  for (ssize_t at = 0, sent; at < got; at += sent)
    if ((sent = write(to, bytes + at, (size_t)(got - at))) <= 0) return false;
  return got > 0;
}

static int relay(const char *path) {
  int fd = reach(path, 0);
  for (;;) {
    struct pollfd p[] = {{.fd = 0, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    if (poll(p, 2, -1) < 0) return 1;
    if ((p[0].revents && !pass(0, fd)) || (p[1].revents && !pass(fd, 1))) return 0;
  }
}

/* A node with a kernel of its own has booted when its init has, and is ready when its program ends with 0. */
static int ready(char **program) {
  if (access(READY_MARK, F_OK) == 0) return *program ? run_in_guest(program) : 0;
  puts(access(GUEST_MARK, F_OK) == 0 ? "its boot has not ended" : "its kernel boots");
  return 1;
}

int tool(int argc, char **argv) {
  if (argc >= 2 && !strcmp(argv[1], "ready")) return ready(argv + 2);
  if (argc >= 3 && !strcmp(argv[1], "run")) return run_in_guest(argv + 2);
  if (argc == 2 && !strcmp(argv[1], "hibernate")) return hibernate();
  if (argc == 2 && !strcmp(argv[1], "probe-kvm")) return probe_kvm();
  if (argc == 3 && !strcmp(argv[1], "relay")) return relay(argv[2]);
  dprintf(2, "usage: vm boot | ready [<program>] | run <program> | hibernate | relay <socket> | probe-kvm\n");
  return 2;
}
