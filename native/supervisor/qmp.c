/* The hypervisor's control line: one JSON object a line. */
#include "vm.h"
#include <poll.h>
#include <stdarg.h>
#include <sys/socket.h>

enum { PATIENCE_MS = 60000 /* a hypervisor on a busy machine; one that does not answer for so long is told as broken */ };

int qmp_fd = -1;
char qmp_answer[4096];
static char input[65536];
static size_t filled;
static bool gone;

/* The next whole line; NULL: none within the time. */
static char *next_line(int timeout) {
  static char line[sizeof input];
  for (;;) {
    char *end = memchr(input, '\n', filled);
    if (end) {
      size_t length = (size_t)(end - input);
      memcpy(line, input, length);
      line[length] = 0;
      memmove(input, end + 1, filled -= length + 1);
      return line;
    }
    if (filled == sizeof input) filled = 0; /* no line of ours is so long */
    struct pollfd p = {.fd = qmp_fd, .events = POLLIN};
    if (gone || poll(&p, 1, timeout) <= 0) return NULL;
    ssize_t got = read(qmp_fd, input + filled, sizeof input - filled);
    if (got <= 0) {
      gone = got == 0 || (errno != EAGAIN && errno != EINTR);
      return NULL;
    }
    filled += (size_t)got;
  }
}

static void event(const char *line) {
  const char *name = "\"device\": \"", *at = strstr(line, name);
  char device[32];
  if (!strstr(line, "\"event\": \"DEVICE_DELETED\"") || !at) return;
  snprintf(device, sizeof device, "%.*s", (int)strcspn(at + strlen(name), "\""), at + strlen(name));
  port_unplugged(device);
}

static bool answered(void) {
  for (char *line; (line = next_line(PATIENCE_MS));) {
    bool done = !strncmp(line, "{\"return\"", 9);
    if (!done && strncmp(line, "{\"error\"", 8) != 0) {
      event(line);
      continue;
    }
    snprintf(qmp_answer, sizeof qmp_answer, "%s", line);
    return done;
  }
  snprintf(qmp_answer, sizeof qmp_answer, "the hypervisor does not answer");
  return false;
}

bool qmp(int fd, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  int length = vsnprintf(text, sizeof text - 1, format, args);
  va_end(args);
  if (length < 0 || length >= (int)sizeof text - 1) return false;
  text[length++] = '\n';
  union { struct cmsghdr header; char room[CMSG_SPACE(sizeof fd)]; } extra = {
    .header = {.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS},
  };
  memcpy(CMSG_DATA(&extra.header), &fd, sizeof fd);
  struct iovec body = {text, (size_t)length};
  struct msghdr message = {.msg_iov = &body, .msg_iovlen = 1};
  if (fd >= 0) message.msg_control = &extra, message.msg_controllen = sizeof extra.room;
  if (sendmsg(qmp_fd, &message, MSG_NOSIGNAL) != length) {
    snprintf(qmp_answer, sizeof qmp_answer, "the hypervisor has ended");
    return false;
  }
  return answered();
}

bool qmp_open(void) {
  char *greeting = next_line(PATIENCE_MS);
  return greeting && strstr(greeting, "\"QMP\"") && qmp(-1, "{\"execute\":\"qmp_capabilities\"}");
}

bool qmp_events(void) {
  for (char *line; (line = next_line(0));) event(line);
  return !gone;
}
