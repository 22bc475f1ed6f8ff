/*
 * The guest of a node with a kernel of its own. Its init connects over the private link, gets the node's settings and reports the end of its boot. The
 * guest may send anything.
 */
#include "../common/guest.h"
#include "vm.h"
#include <arpa/inet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>

enum { ENTROPY = 64, MAX_REPORT = 64, PATIENCE_S = 20 /* for a guest that does not read */, PAUSE_MS = 200, MAX_PAUSES = 12 };

int guest_fd = -1; /* the connection, and the listening socket while there is none */
static int listener = -1;
static bool connected, may_save; /* the guest has the message that it becomes a snapshot */
static struct timespec asked; /* for a pause */
static int wrong_pauses;
static struct guest_message input = {.most = MAX_REPORT};

/* The guest of a snapshot has the address of this interface in its neighbour table. */
static bool set_address(int fd, const char *interface) {
  static const unsigned char address[] = {0x52, 0x4c, 0x57, 0, 1, GUEST_LINK};
  struct ifreq r = {.ifr_hwaddr.sa_family = ARPHRD_ETHER};
  snprintf(r.ifr_name, sizeof r.ifr_name, "%s", interface);
  memcpy(r.ifr_hwaddr.sa_data, address, sizeof address);
  return ioctl(fd, SIOCSIFHWADDR, &r) == 0;
}

void guest_open(const char *interface) {
  struct ifreq r = {0};
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(GUEST_PORT), .sin_addr.s_addr = htonl(HOST_ADDRESS)};
  snprintf(r.ifr_name, sizeof r.ifr_name, "%s", interface);
  memcpy(&r.ifr_addr, &address, sizeof address);
  bool done = fd >= 0 && set_address(fd, interface) && ioctl(fd, SIOCSIFADDR, &r) == 0;
  struct sockaddr_in mask = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(~0u << (32 - GUEST_PREFIX))};
  memcpy(&r.ifr_netmask, &mask, sizeof mask);
  done = done && ioctl(fd, SIOCSIFNETMASK, &r) == 0;
  if (!done) fail("%s: %s", interface, strerror(errno));
  close(fd);
  guest_fd = listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  /* Only the guest: for a moment after a link is added, its other end could reach this namespace. */
  if (guest_fd >= 0 && setsockopt(guest_fd, SOL_SOCKET, SO_BINDTODEVICE, interface, (socklen_t)strlen(interface)) < 0)
    fail("%s: %s", interface, strerror(errno));
  if (guest_fd < 0 || bind(guest_fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(guest_fd, 1) < 0)
    fail("the private link: %s", strerror(errno));
}

static bool pause_is_right(long ms) { return ms >= PAUSE_MS * 9 / 10 && ms <= PAUSE_MS * 12 / 10; }

/*
 * Waits for a connection again until the guest has booted: on a busy machine, the guest may have given up its attempt to connect before the supervisor
 * accepted it.
 */
static void disconnected(void) {
  close(guest_fd);
  guest_next(&input);
  guest_fd = listener;
  connected = false;
}

static void stop_listening(void) {
  if (listener >= 0) close(listener);
  listener = -1;
}

/* Sends a message. A guest that does not read, or has closed the connection, gets no more. */
static void tell_bytes(char type, const char *bytes, size_t length) {
  if (!connected || guest_send(guest_fd, type, bytes, length)) return;
  if (is_ready()) dprintf(2, "labwright: the guest takes no more settings\r\n");
  disconnected();
}

static void tell(char type, const char *text) { tell_bytes(type, text, strlen(text)); }

void guest_link(int index, const char *name, const unsigned char *m, unsigned mtu, const char *addresses) {
  char text[256];
  snprintf(text, sizeof text, "%d %02x:%02x:%02x:%02x:%02x:%02x %u %s %s", index, m[0], m[1], m[2], m[3], m[4], m[5], mtu, name, addresses);
  tell('N', text);
}

void guest_unlink(int index) {
  char text[16];
  snprintf(text, sizeof text, "%d", index);
  tell('D', text);
}

bool guest_connected(void) { return connected; }

void guest_power_off(void) { tell('T', ""); }

void guest_window(void) {
  struct winsize size;
  char text[32];
  if (ioctl(terminal_fd, TIOCGWINSZ, &size) < 0) return;
  snprintf(text, sizeof text, "%hu %hu", size.ws_col, size.ws_row);
  tell('Z', text);
}

/* The service wrote the settings as messages. */
static bool send_settings(int fd) {
  char bytes[65536];
  ssize_t got = -1;
  int file = open(GUEST_SETTINGS, O_RDONLY | O_CLOEXEC);
  while (file >= 0 && (got = read(file, bytes, sizeof bytes)) > 0)
    for (ssize_t at = 0, sent; at < got; at += sent)
      if ((sent = send(fd, bytes + at, (size_t)(got - at), MSG_NOSIGNAL)) <= 0) return close(file), false;
  if (file >= 0) close(file);
  return got == 0;
}

/* The time, and random numbers that no other guest has. */
static void begin(void) {
  char bytes[64 + ENTROPY];
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  const size_t head = (size_t)snprintf(bytes, 64, "%lld %ld", (long long)now.tv_sec, now.tv_nsec) + 1;
  if (getrandom(bytes + head, ENTROPY, 0) != ENTROPY) fail("random numbers: %s", strerror(errno));
  tell_bytes('C', bytes, head + ENTROPY);
}

/* The guest of a snapshot waits for a moment: its timer may be slow, because its kernel measured it on a busy machine. */
static void ask_for_pause(void) {
  char text[16];
  snprintf(text, sizeof text, "%d", PAUSE_MS);
  clock_gettime(CLOCK_MONOTONIC, &asked);
  tell('M', text);
}

/* Takes the snapshot if the pause had its length. A busy machine can only make it longer, so that one good measurement is enough. */
static void measure_pause(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const long ms = (now.tv_sec - asked.tv_sec) * 1000 + (now.tv_nsec - asked.tv_nsec) / 1000000;
  if (pause_is_right(ms)) {
    stop_listening(); /* a snapshot must not contain a connection with this supervisor */
    may_save = true;
    return tell('S', "");
  }
  if (++wrong_pauses == MAX_PAUSES) fail("the timer of the node's own kernel is wrong: %d ms took %ld ms", PAUSE_MS, ms);
  ask_for_pause();
}

static void greet(void) {
  int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  if (fd < 0) return;
  struct timeval patience = {.tv_sec = PATIENCE_S};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  guest_fd = fd;
  connected = true;
  if (taking_snapshot()) return ask_for_pause();
  begin();
  if (connected && !send_settings(fd)) {
    if (errno == EPIPE || errno == ECONNRESET) return disconnected();
    fail("the guest does not take its settings: %s", strerror(errno));
  }
  if (!connected) return;
  guest_window();
  ports_report();
  int mark = open(GUEST_MARK, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (mark < 0) fail("%s: %s", GUEST_MARK, strerror(errno));
  close(mark);
  tell('G', "");
}

/* The end of the boot: its exit code. */
static void report(const struct guest_message *m) {
  char *end;
  if (m->type != 'B' || is_ready()) return;
  stop_listening();
  long code = strtol(m->data, &end, 10);
  if (*end || end == m->data || code < 0 || code > 255) code = 1;
  if (code == 0) mark_ready();
  else guest_has_failed((int)code);
}

void guest_events(void) {
  if (!connected) return greet();
  int got = guest_receive(guest_fd, &input);
  if (got < 0) {
    disconnected();
    if (may_save) save_state();
  }
  if (got <= 0) return;
  if (taking_snapshot() && input.type == 'M') measure_pause();
  else report(&input);
  guest_next(&input);
}
