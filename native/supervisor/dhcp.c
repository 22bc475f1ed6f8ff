/*
 * A DHCP server for one client: the guest's interface in the management network (RFC 2131). It sees the frames that the guest sends, at the tap. The guest
 * may send anything.
 */
#include "vm.h"
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <sys/socket.h>

enum { DISCOVER = 1, OFFER, REQUEST, DECLINE, ACK, NAK, RELEASE, INFORM };
enum { PAD = 0, MASK = 1, REQUESTED = 50, LEASE = 51, TYPE = 53, SERVER = 54, END = 255 };
enum {
  SERVER_PORT = 67,
  CLIENT_PORT = 68,
  LEASE_S = 120, /* a changed address reaches the guest within this time: a client whose server has another address asks all servers before the end */
  ETHERNET = 14,
  FIXED = 236,      /* bytes of a message before its options, with their cookie: 240 */
  AT_ONCE = 64,     /* messages that are answered in one turn */
  LEAST_BODY = 300, /* clients may refuse shorter messages */
};
static const uint8_t cookie[] = {99, 130, 83, 99};
static const uint8_t server_mac[] = {0x52, 0x4c, 0x57, 0, 2, 0xff};

int dhcp_fd = -1;
static struct lease lease;

bool lease_read(struct lease *l, const unsigned char *mac, const char *addresses) {
  unsigned a, b, c, d, prefix;
  memset(l, 0, sizeof *l);
  if (sscanf(addresses, "%3u.%3u.%3u.%3u/%2u", &a, &b, &c, &d, &prefix) != 5 || a > 255 || b > 255 || c > 255 || d > 255 || prefix < 1 || prefix > 30) return false;
  l->address = a << 24 | b << 16 | c << 8 | d;
  l->mask = ~0u << (32 - prefix);
  l->server = (l->address & l->mask) + 1; /* the machine's, which drops the guest's requests */
  memcpy(l->mac, mac, sizeof l->mac);
  return true;
}

static uint32_t get32(const uint8_t *at) { return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3]; }
static uint16_t get16(const uint8_t *at) { return (uint16_t)(at[0] << 8 | at[1]); }
static void put16(uint8_t *at, unsigned value) { at[0] = (uint8_t)(value >> 8), at[1] = (uint8_t)value; }
static void put32(uint8_t *at, uint32_t value) { put16(at, value >> 16), put16(at + 2, value & 0xffff); }

static uint8_t *option32(uint8_t *at, uint8_t code, uint32_t value) {
  *at++ = code;
  *at++ = 4;
  put32(at, value);
  return at + 4;
}

/* Returns the message in the frame, and its size; NULL if it is none from this client. */
static const uint8_t *message_of(const uint8_t *frame, size_t size, const struct lease *l, size_t *length) {
  if (size < ETHERNET + 20 || get16(frame + 12) != 0x0800) return NULL;
  const uint8_t *ip = frame + ETHERNET;
  const size_t head = (size_t)(ip[0] & 15) * 4, total = get16(ip + 2);
  if (ip[0] >> 4 != 4 || head < 20 || total > size - ETHERNET || total < head + 8 + FIXED + sizeof cookie) return NULL;
  if (ip[9] != 17 || (get16(ip + 6) & 0x3fff) != 0) return NULL;
  const uint8_t *udp = ip + head, *m = udp + 8;
  const size_t declared = get16(udp + 4);
  if (get16(udp + 2) != SERVER_PORT || declared > total - head || declared < 8 + FIXED + sizeof cookie) return NULL;
  if (m[0] != 1 || m[1] != 1 || m[2] != 6 || memcmp(m + 28, l->mac, 6) != 0 || memcmp(m + FIXED, cookie, sizeof cookie) != 0) return NULL;
  *length = declared - 8;
  return m;
}

struct request { int type; uint32_t requested, server; };

static struct request options_of(const uint8_t *m, size_t length) {
  struct request r = {0};
  for (size_t at = FIXED + sizeof cookie; at < length && m[at] != END;) {
    const uint8_t code = m[at++];
    if (code == PAD) continue;
    if (at >= length) break;
    const size_t size = m[at++];
    if (size > length - at) break;
    if (code == TYPE && size == 1) r.type = m[at];
    if (code == REQUESTED && size == 4) r.requested = get32(m + at);
    if (code == SERVER && size == 4) r.server = get32(m + at);
    at += size;
  }
  return r;
}

static int answer_type(const struct request *r, uint32_t client, const struct lease *l) {
  if (r->type == DISCOVER) return OFFER;
  if (r->type == INFORM) return ACK;
  if (r->type != REQUEST || (r->server != 0 && r->server != l->server)) return 0;
  return (r->requested != 0 ? r->requested : client) == l->address ? ACK : NAK;
}

static uint16_t checksum(const uint8_t *at, size_t size) {
  uint32_t sum = 0;
  for (size_t i = 0; i + 1 < size; i += 2) sum += get16(at + i);
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return (uint16_t)~sum;
}

size_t dhcp_answer(const uint8_t *frame, size_t size, const struct lease *l, uint8_t answer[DHCP_MOST]) {
  size_t length;
  const uint8_t *m = message_of(frame, size, l, &length);
  if (!m) return 0;
  const struct request r = options_of(m, length);
  const uint32_t client = get32(m + 12);
  const int type = answer_type(&r, client, l);
  if (type == 0) return 0;
  const bool has_address = client != 0 && type == ACK, gives = r.type != INFORM && type != NAK;
  const bool broadcast = type == NAK || (!has_address && (m[10] & 0x80) != 0);
  memset(answer, 0, DHCP_MOST);
  uint8_t *ip = answer + ETHERNET, *udp = ip + 20, *b = udp + 8;
  b[0] = 2, b[1] = 1, b[2] = 6;
  memcpy(b + 4, m + 4, 4);   /* the transaction */
  memcpy(b + 10, m + 10, 2); /* flags */
  if (has_address) memcpy(b + 12, m + 12, 4);
  if (gives) put32(b + 16, l->address);
  memcpy(b + 28, m + 28, 16);
  memcpy(b + FIXED, cookie, sizeof cookie);
  uint8_t *at = b + FIXED + sizeof cookie;
  *at++ = TYPE, *at++ = 1, *at++ = (uint8_t)type;
  at = option32(at, SERVER, l->server);
  if (gives) at = option32(at, LEASE, LEASE_S);
  /* No router: a node only answers over this network. */
  if (type != NAK) at = option32(at, MASK, l->mask);
  *at++ = END;
  const size_t used = (size_t)(at - b), body = used < LEAST_BODY ? LEAST_BODY : used;
  put16(udp, SERVER_PORT);
  put16(udp + 2, CLIENT_PORT);
  put16(udp + 4, (unsigned)(8 + body)); /* the checksum 0 means: there is none */
  ip[0] = 0x45;
  put16(ip + 2, (unsigned)(20 + 8 + body));
  ip[8] = 64, ip[9] = 17;
  put32(ip + 12, l->server);
  put32(ip + 16, broadcast ? ~0u : has_address ? client : l->address);
  put16(ip + 10, checksum(ip, 20));
  if (broadcast) memset(answer, 0xff, 6);
  else memcpy(answer, l->mac, 6);
  memcpy(answer + 6, server_mac, 6);
  put16(answer + 12, 0x0800);
  return ETHERNET + 20 + 8 + body;
}

/* Only UDP to the server's port, whole packets: all other frames of the guest must not wake the supervisor. */
static bool filter_requests(int fd) {
  struct sock_filter code[] = {
    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x0800, 0, 8),
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, ETHERNET + 9),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 17, 0, 6),
    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, ETHERNET + 6),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x3fff, 4, 0),
    BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, ETHERNET),
    BPF_STMT(BPF_LD | BPF_H | BPF_IND, ETHERNET + 2),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SERVER_PORT, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, 0xffff),
    BPF_STMT(BPF_RET | BPF_K, 0),
  };
  const struct sock_fprog program = {.len = ARRAY(code), .filter = code};
  return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

/* Frames are read before tc takes them off the tap, which only sockets of all protocols can do. */
static int requests_of(const char *tap) {
  const struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)if_nametoindex(tap)};
  const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1;
  if (fd >= 0 && filter_requests(fd) && setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof yes) == 0 && address.sll_ifindex != 0 &&
      bind(fd, (const struct sockaddr *)&address, sizeof address) == 0)
    return fd;
  const int problem = errno;
  if (fd >= 0) close(fd);
  errno = problem;
  return -1;
}

void dhcp_serve(const char *tap, const unsigned char *mac, const char *addresses) {
  if (!lease_read(&lease, mac, addresses)) return dhcp_end();
  if (dhcp_fd >= 0) return;
  dhcp_fd = requests_of(tap);
  if (dhcp_fd < 0) dprintf(2, "labwright: the guest gets no address by DHCP: %s\r\n", strerror(errno));
}

void dhcp_end(void) {
  if (dhcp_fd >= 0) close(dhcp_fd);
  dhcp_fd = -1;
}

void dhcp_ready(void) {
  static uint8_t frame[2048], answer[DHCP_MOST];
  ssize_t got = -1;
  /* A guest that sends without end does not keep the supervisor from its other work. */
  for (int count = 0; count < AT_ONCE && (got = recv(dhcp_fd, frame, sizeof frame, 0)) >= 0; count++) {
    const size_t size = dhcp_answer(frame, (size_t)got, &lease, answer);
    if (size > 0) (void)!send(dhcp_fd, answer, size, 0); /* the client asks again for an answer that is lost */
  }
  if (got >= 0) return; /* the rest at the next turn */
  /* The tap went down or is gone: the port that has it ends the server or starts it again. */
  if (errno != EAGAIN && errno != EINTR && errno != ENETDOWN) dhcp_end();
}
