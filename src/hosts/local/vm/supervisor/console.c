/* The guest's serial line, relayed to the node's terminal, whose other side the lab's holder keeps with its scrollback. */
#include "vm.h"
#include <regex.h>
#include <sys/socket.h>
#include <termios.h>

int serial_fd = -1, terminal_fd = -1;
static char pending[16384]; /* said by the guest, not yet taken by the terminal */
static size_t pending_at, pending_end;
static char seen[4096]; /* what the guest said last, for the ready pattern */
static size_t seen_length;
static regex_t pattern;
static bool watching, marked;

void console_open(const char *ready) {
  terminal_fd = open("/dev/console", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  struct termios t;
  if (terminal_fd < 0 || tcgetattr(terminal_fd, &t) < 0) fail("the console: %s", strerror(errno));
  cfmakeraw(&t);
  t.c_oflag |= OPOST | ONLCR; /* for words of ours, until the guest speaks */
  tcsetattr(terminal_fd, TCSANOW, &t);
  if (!ready) return;
  int rc = regcomp(&pattern, ready, REG_EXTENDED | REG_NOSUB | REG_NEWLINE);
  if (rc != 0) {
    char words[256];
    regerror(rc, &pattern, words, sizeof words);
    fail("the ready pattern: %s", words);
  }
  watching = true;
}

void mark_ready(void) {
  int fd = open(READY_MARK, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) fail("%s: %s", READY_MARK, strerror(errno));
  close(fd);
  watching = false;
  marked = true;
}

bool is_ready(void) { return marked; }

/* Control sequences to a terminal are no part of what is said. */
static bool is_text(unsigned char c) {
  static enum { TEXT, ESCAPE, CONTROL } state;
  if (c == 0x1b) return state = ESCAPE, false;
  if (state == ESCAPE) return state = c == '[' ? CONTROL : TEXT, false;
  if (state == CONTROL) return state = c >= 0x40 && c <= 0x7e ? TEXT : CONTROL, false;
  return c != 0 && c != '\r';
}

static void look_for_ready(const char *bytes, size_t length) {
  if (!watching) return;
  for (size_t i = 0; i < length; i++) {
    if (seen_length == sizeof seen - 1) memmove(seen, seen + sizeof seen / 2, seen_length -= sizeof seen / 2);
    if (is_text((unsigned char)bytes[i])) seen[seen_length++] = bytes[i];
  }
  seen[seen_length] = 0;
  if (regexec(&pattern, seen, 0, NULL, 0) == 0) mark_ready();
}

bool console_stuck(void) { return pending_at < pending_end; }

void console_drain(void) {
  while (pending_at < pending_end) {
    ssize_t sent = write(terminal_fd, pending + pending_at, pending_end - pending_at);
    if (sent <= 0) return;
    pending_at += (size_t)sent;
  }
  pending_at = pending_end = 0;
}

bool serial_ready(void) {
  static bool spoke;
  ssize_t got = read(serial_fd, pending, sizeof pending);
  if (got <= 0) return got < 0 && (errno == EAGAIN || errno == EINTR);
  if (!spoke) {
    struct termios t;
    spoke = true;
    if (tcgetattr(terminal_fd, &t) == 0) cfmakeraw(&t), tcsetattr(terminal_fd, TCSANOW, &t);
  }
  pending_at = 0;
  pending_end = (size_t)got;
  look_for_ready(pending, pending_end);
  console_drain();
  return true;
}

static char typed[256]; /* typed, and not yet taken by the guest */
static size_t typed_at, typed_end;

/* A guest that does not listen leaves what is typed in the terminal. */
bool typing_stuck(void) { return typed_at < typed_end; }

void typing_drain(void) {
  while (typed_at < typed_end) {
    ssize_t sent = send(serial_fd, typed + typed_at, typed_end - typed_at, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent <= 0) return;
    typed_at += (size_t)sent;
  }
}

void terminal_ready(void) {
  ssize_t got = read(terminal_fd, typed, sizeof typed);
  typed_at = 0;
  typed_end = got > 0 ? (size_t)got : 0;
  typing_drain();
}
