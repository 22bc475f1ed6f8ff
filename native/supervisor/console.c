/* The guest's serial line, relayed to the node's terminal, whose other side the lab's holder keeps with its scrollback. */
#include "vm.h"
#include <regex.h>
#include <sys/socket.h>
#include <termios.h>

int serial_fd = -1, terminal_fd = -1;
static char pending[16384]; /* output of the guest that the terminal has not taken yet */
static size_t pending_at, pending_end;
static char seen[4096]; /* the guest's last output, for the patterns */
static size_t seen_length;
static regex_t ready_pattern, failed_pattern;
static bool watching, watching_failure, marked;
static int failure;

static void compile(regex_t *pattern, const char *text, int flags, const char *name) {
  int rc = regcomp(pattern, text, REG_EXTENDED | REG_NEWLINE | flags);
  if (rc == 0) return;
  char words[256];
  regerror(rc, pattern, words, sizeof words);
  fail("the %s pattern: %s", name, words);
}

void console_open(const char *ready, const char *failed) {
  terminal_fd = open("/dev/console", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  struct termios t;
  if (terminal_fd < 0 || tcgetattr(terminal_fd, &t) < 0) fail("the console: %s", strerror(errno));
  cfmakeraw(&t);
  t.c_oflag |= OPOST | ONLCR; /* for messages of the supervisor, until the guest prints */
  tcsetattr(terminal_fd, TCSANOW, &t);
  if (!ready) return;
  compile(&ready_pattern, ready, REG_NOSUB, "ready");
  watching = true;
  if (!failed) return;
  compile(&failed_pattern, failed, 0, "failed");
  watching_failure = true;
}

void mark_ready(void) {
  int fd = open(READY_MARK, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) fail("%s: %s", READY_MARK, strerror(errno));
  close(fd);
  watching = false;
  marked = true;
}

bool is_ready(void) { return marked; }

int guest_failed(void) { return failure; }

void guest_has_failed(int code) { failure = code; }

/* Removes control sequences of terminals from the guest's output. */
static bool is_text(unsigned char c) {
  static enum { TEXT, ESCAPE, CONTROL } state;
  if (c == 0x1b) return state = ESCAPE, false;
  if (state == ESCAPE) return state = c == '[' ? CONTROL : TEXT, false;
  if (state == CONTROL) return state = c >= 0x40 && c <= 0x7e ? TEXT : CONTROL, false;
  return c != 0 && c != '\r';
}

/* The first group of the pattern is the exit code. A guest that reports its failure without one, or with 0, has failed with 1. */
static bool matches_failure(void) {
  regmatch_t match[2];
  if (!watching_failure || regexec(&failed_pattern, seen, ARRAY(match), match, 0) != 0) return false;
  int code = match[1].rm_so < 0 ? 0 : atoi(seen + match[1].rm_so);
  failure = code > 0 && code < 256 ? code : 1;
  return true;
}

/* A guest that failed before it was ready does not become ready. A guest that is ready can no longer fail its boot. */
static void match_seen(void) {
  seen[seen_length] = 0;
  if (matches_failure()) watching = false;
  else if (regexec(&ready_pattern, seen, 0, NULL, 0) == 0) mark_ready();
}

static void look_for_patterns(const char *bytes, size_t length) {
  for (size_t i = 0; i < length && watching; i++) {
    if (seen_length == sizeof seen - 1) {
      match_seen();
      memmove(seen, seen + sizeof seen / 2, seen_length -= sizeof seen / 2);
    }
    if (is_text((unsigned char)bytes[i])) seen[seen_length++] = bytes[i];
  }
  if (watching) match_seen();
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
  look_for_patterns(pending, pending_end);
  console_drain();
  return true;
}

static char typed[256]; /* typed, and not yet taken by the guest */
static size_t typed_at, typed_end;

/* If the guest does not read, typed bytes stay in the terminal. */
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
