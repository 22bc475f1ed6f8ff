#include "sockets.h"
#include <sys/socket.h>

/* Reads a file of the node's net namespace. Returns false if it cannot be read completely. */
static bool read_there(const struct node *n, const char *name, char *text, size_t room) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/net/%s", n->pid, name);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  size_t length = 0;
  ssize_t got;
  while ((got = read(fd, text + length, room - 1 - length)) > 0) length += (size_t)got;
  close(fd);
  text[length] = 0;
  return got == 0 && length > 0 && length < room - 1;
}

/* Counts the sockets of protocols whose memory the kernel counts. */
static long counted_there(char *text) {
  long sum = 0;
  for (char *rest, *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    char name[32];
    long sockets, pages;
    /* A protocol that has no figure of its memory has -1. Those of UNIX have none either: each group is charged for what its processes send. */
    if (sscanf(line, "%31s %*s %ld %ld", name, &sockets, &pages) == 3 && (pages >= 0 || !strncmp(name, "UNIX", 4))) sum += sockets;
  }
  return sum;
}

/* Returns how many of these sockets the node has, never too few; -1: the kernel does not report it. If there are few sockets in all, counts all of them. */
static long uncounted(const struct node *n) {
  static char text[32 << 10];
  long all;
  if (!read_there(n, "sockstat", text, sizeof text) || sscanf(text, "sockets: used %ld", &all) != 1) return -1;
  if (all < RAISED_SOCKETS) return all;
  return read_there(n, "protocols", text, sizeof text) ? all - counted_there(text) : -1;
}

int socket_grant(const struct node *n) {
  long there = uncounted(n);
  return there >= 0 && there < MAX_SOCKETS ? 0 : (errno = ENOBUFS, -1);
}

static int number_of(int there, int option) {
  int value = -1;
  socklen_t length = sizeof value;
  return getsockopt(there, SOL_SOCKET, option, &value, &length) < 0 ? -1 : value;
}

static bool is_counted(int there) {
  int family = number_of(there, SO_DOMAIN), type = number_of(there, SO_TYPE), protocol = number_of(there, SO_PROTOCOL);
  if (family != AF_INET && family != AF_INET6) return family == AF_UNIX;
  return type == SOCK_STREAM || (type == SOCK_DGRAM && protocol == 17 /* UDP */);
}

int buffer_set(const struct node *n, int there, int option, int bytes) {
  if (!is_counted(there)) {
    bool is_queue = option == SO_RCVBUF, grows = (unsigned)bytes > (unsigned)number_of(there, option) / 2;
    long others = is_queue && grows ? uncounted(n) : 0;
    if (others < 0 || others > RAISED_SOCKETS) return 0;
    int max = is_queue ? RAISED_BUFFER : SENT_BUFFER;
    if ((unsigned)bytes > (unsigned)max) bytes = max;
  }
  return setsockopt(there, SOL_SOCKET, option, &bytes, sizeof bytes);
}
