/*
 * Runs a program in a node with a kernel of its own: `vm run <argv>`. The holder starts this client in place of the program. Its streams, its terminal's
 * size and its signals are forwarded to the guest, and it ends as the program does. The guest may answer anything.
 */
#include "../common/guest.h"
#include "../common/io.h"
#include "../common/text.h"
#include "vm.h"
#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <termios.h>
#include <time.h>

enum {
  STEP_MS = 20,
  BOOT_MS = 120000, /* a busy machine */
  ASK_AFTER_S = 5,  /* a quiet guest's kernel is asked whether it is alive */
  SILENT_MS = 120000, /* a guest that was stopped for a shorter time goes on */
};

static int guest;
static int answer_ms = 10000; /* the guest's kernel answers within milliseconds; a busy machine needs longer */
static int start_ms = 60000; /* its init starts the program within milliseconds; a busy machine needs longer */
static size_t in_flight;
static bool terminal, input_ended, started;

static _Noreturn void stop(const char *why) {
  dprintf(2, "labwright: %s\n", why);
  _exit(126);
}

static _Noreturn void nonsense(void) { stop("the node's own kernel does not answer as it should: restart the node"); }

static _Noreturn void silent(void) { stop("the node's own kernel does not answer: wait until it does, or restart the node"); }

static _Noreturn void not_started(void) {
  stop("the node's own kernel took the command, but has not started it: try again when the machine is less busy, or restart the node");
}

/* Ends the connection if the guest's kernel is silent for too long while the program runs. */
static void limit_silence(void) {
  setsockopt(guest, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int));
  setsockopt(guest, IPPROTO_TCP, TCP_KEEPIDLE, &(int){ASK_AFTER_S}, sizeof(int));
  setsockopt(guest, IPPROTO_TCP, TCP_KEEPINTVL, &(int){ASK_AFTER_S}, sizeof(int));
  setsockopt(guest, IPPROTO_TCP, TCP_USER_TIMEOUT, &(unsigned){SILENT_MS}, sizeof(unsigned));
}

/* Limits the time in which the guest's kernel takes a connection and the bytes of a request; 0: no limit. */
static void limit_sending(int ms) {
  struct timeval limit = {.tv_sec = ms / 1000};
  setsockopt(guest, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

/* Waits until the guest's kernel has acknowledged all that was sent: it may have stopped after the connection was made. */
static void await_acknowledgement(void) {
  int left = 0;
  for (int waited = 0; ioctl(guest, SIOCOUTQ, &left) == 0 && left > 0; waited++) {
    if (waited >= answer_ms) silent();
    usleep(1000);
  }
}

static void connect_guest(void) {
  for (int waited = 0; access(GUEST_MARK, F_OK) < 0; waited += STEP_MS) {
    if (waited >= BOOT_MS) stop("the node's own kernel has not booted");
    usleep(STEP_MS * 1000);
  }
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(GUEST_PORT), .sin_addr.s_addr = htonl(GUEST_ADDRESS)};
  guest = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  limit_sending(answer_ms);
  if (guest < 0 || connect(guest, (struct sockaddr *)&address, sizeof address) < 0) silent();
  guest_at_once(guest);
  limit_silence();
  setsockopt(guest, SOL_SOCKET, SO_SNDBUF, &(int){4 * GUEST_WINDOW}, sizeof(int));
}

static void send_request(char **argv) {
  struct text request = {0};
  struct winsize size = {.ws_col = 80, .ws_row = 24};
  static char directory[4096];
  size_t count = 0;
  terminal = isatty(0) && ioctl(0, TIOCGWINSZ, &size) == 0;
  if (terminal) text_field(&request, "t %hu %hu", size.ws_col, size.ws_row);
  else text_field(&request, "p");
  const char *wanted = getenv("LABWRIGHT_DIRECTORY");
  snprintf(directory, sizeof directory, "%s", wanted ? wanted : "");
  text_field(&request, "%s", directory);
  while (argv[count]) count++;
  text_field(&request, "%zu", count);
  for (size_t i = 0; i < count; i++) text_add(&request, argv[i], strlen(argv[i]) + 1);
  for (char **e = environ; *e; e++)
    if (strncmp(*e, "LABWRIGHT_GUEST=", 16) != 0 && strncmp(*e, "LABWRIGHT_DIRECTORY=", 20) != 0) text_add(&request, *e, strlen(*e) + 1);
  if (request.failed || request.length > GUEST_REQUEST) stop("the command is too long");
  if (!guest_send(guest, 'P', request.data, request.length)) silent();
  text_free(&request);
  await_acknowledgement();
  limit_sending(0);
}

/* Ends as the program did: "<exit code> <signal>". */
static _Noreturn void end_as(const char *text) {
  int code, number;
  if (sscanf(text, "%d %d", &code, &number) != 2 || code < -1 || code > 255 || number < 0 || number > SIGRTMAX) nonsense();
  if (number == 0) _exit(code < 0 ? 126 : code);
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  signal(number, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  raise(number);
  sigprocmask(SIG_UNBLOCK, &one, NULL);
  _exit(128 + number);
}

static void message(const struct guest_message *m) {
  char *end;
  started = true;
  switch (m->type) {
  case 'R': return;
  case 'O':
  case 'E':
    if (!write_all(m->type == 'O' ? 1 : 2, m->data, m->length)) _exit(126);
    return;
  case 'A': {
    unsigned long taken = strtoul(m->data, &end, 10);
    if (*end || taken > in_flight) nonsense();
    in_flight -= taken;
    return;
  }
  case 'X': end_as(m->data);
  default: nonsense();
  }
}

static void forward_input(void) {
  static char bytes[GUEST_PIECE];
  size_t room = GUEST_WINDOW - in_flight;
  ssize_t got = read(0, bytes, room < sizeof bytes ? room : sizeof bytes);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got < 0) got = 0;
  if (got == 0) input_ended = true;
  if (got == 0 && terminal) _exit(129); /* the hang-up */
  in_flight += (size_t)got;
  if (!guest_send(guest, 'I', bytes, (size_t)got)) errno == ETIMEDOUT ? silent() : nonsense();
}

static void forward_signal(int signals) {
  struct signalfd_siginfo info;
  struct winsize size;
  char text[32];
  if (read(signals, &info, sizeof info) != sizeof info) return;
  if (info.ssi_signo == SIGWINCH) {
    if (!terminal || ioctl(0, TIOCGWINSZ, &size) < 0) return;
    snprintf(text, sizeof text, "%hu %hu", size.ws_col, size.ws_row);
    guest_send(guest, 'W', text, strlen(text));
    return;
  }
  if (info.ssi_signo == SIGHUP && terminal) _exit(129);
  snprintf(text, sizeof text, "%u", info.ssi_signo);
  guest_send(guest, 'S', text, strlen(text));
}

static int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static _Noreturn void relay(void) {
  struct guest_message m = {.most = GUEST_PIECE};
  struct termios raw;
  sigset_t all;
  if (terminal && tcgetattr(0, &raw) == 0) cfmakeraw(&raw), tcsetattr(0, TCSANOW, &raw);
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  signal(SIGPIPE, SIG_IGN);
  int signals = signalfd(-1, &all, SFD_CLOEXEC);
  const int64_t latest = now_ms() + start_ms;
  for (;;) {
    int64_t left = latest - now_ms();
    if (!started && left <= 0) not_started();
    struct pollfd p[] = {
      {.fd = guest, .events = POLLIN},
      {.fd = signals, .events = POLLIN},
      {.fd = input_ended || in_flight >= GUEST_WINDOW ? -1 : 0, .events = POLLIN},
    };
    if (poll(p, ARRAY(p), started ? -1 : (int)left) < 0 && errno != EINTR) nonsense();
    if (p[1].revents) forward_signal(signals);
    if (p[0].revents) {
      int got = guest_receive(guest, &m);
      if (got < 0 && errno == ETIMEDOUT) silent();
      if (got < 0) nonsense();
      if (got > 0) message(&m), guest_next(&m);
    }
    if (p[2].revents) forward_input();
  }
}

int run_in_guest(char **argv) {
  connect_guest();
  send_request(argv);
  relay();
}
