#include "io.h"
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

bool write_all(int fd, const void *data, size_t length) {
  for (const char *at = data; length > 0;) {
    ssize_t written = write(fd, at, length);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    at += written;
    length -= (size_t)written;
  }
  return true;
}

bool send_all(int socket, const void *data, size_t length) {
  for (const char *at = data; length > 0;) {
    ssize_t sent = send(socket, at, length, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    at += sent;
    length -= (size_t)sent;
  }
  return true;
}
