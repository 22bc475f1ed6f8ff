/* The hypervisor's control connection (QMP): one JSON object per line. */
#include "vm.h"
#include <jansson.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/socket.h>

enum { PATIENCE_MS = 60000 /* for a busy machine; a hypervisor that takes longer is reported as broken */ };

int qmp_fd = -1;
char qmp_problem[4096];
static json_t *last_result;
static char input[65536];
static size_t filled;
static bool gone;

/* Returns the next complete line, or NULL if none arrives in time. */
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
    if (filled == sizeof input) filled = 0; /* discards a line that is longer than the buffer: no needed line is that long */
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

static const char *text_of(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

/* Handles an event. */
static void event(const json_t *message) {
  if (!strcmp(text_of(message, "event"), "DEVICE_DELETED")) port_unplugged(text_of(json_object_get(message, "data"), "device"));
}

static bool answered(void) {
  for (char *line; (line = next_line(PATIENCE_MS));) {
    /* A line that is not JSON parses to NULL, and every member of NULL is NULL. */
    json_t *message = json_loads(line, 0, NULL);
    const json_t *error = json_object_get(message, "error");
    json_t *result = json_object_get(message, "return");
    if (result || error) {
      json_decref(last_result);
      last_result = json_incref(result);
      if (error) snprintf(qmp_problem, sizeof qmp_problem, "%s", text_of(error, "desc"));
      json_decref(message);
      return result;
    }
    event(message);
    json_decref(message);
  }
  snprintf(qmp_problem, sizeof qmp_problem, "the hypervisor does not answer");
  return false;
}

const char *qmp_returned(const char *key) { return text_of(last_result, key); }

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
    snprintf(qmp_problem, sizeof qmp_problem, "the hypervisor has ended");
    return false;
  }
  return answered();
}

bool qmp_open(void) {
  char *greeting = next_line(PATIENCE_MS);
  json_t *message = greeting ? json_loads(greeting, 0, NULL) : NULL;
  bool is_greeting = json_object_get(message, "QMP");
  json_decref(message);
  return is_greeting && qmp(-1, "{\"execute\":\"qmp_capabilities\"}");
}

bool qmp_events(void) {
  for (char *line; (line = next_line(0));) {
    json_t *message = json_loads(line, 0, NULL);
    event(message);
    json_decref(message);
  }
  return !gone;
}
