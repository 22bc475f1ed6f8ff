/* The guest's interface in the management network gets its one address by DHCP, and nobody else gets any. */
#include "../dhcp.c"
#include "../../fuzz/check.h"

static const unsigned char mac[] = {2, 1, 2, 0, 3, 255};
static struct lease own;
static uint8_t answer[DHCP_MOST];

struct wanted { int type; uint32_t requested, client, server; bool broadcast; };

/* Returns the size of a client's frame. */
static size_t frame_of(uint8_t *frame, const struct wanted *w) {
  memset(frame, 0, 512);
  uint8_t *ip = frame + 14, *udp = ip + 20, *m = udp + 8, *at = m + 240;
  put16(frame + 12, 0x0800);
  ip[0] = 0x45, ip[9] = 17;
  put16(udp, 68), put16(udp + 2, 67);
  m[0] = 1, m[1] = 1, m[2] = 6;
  put32(m + 4, 0xfeedbeef);
  if (w->broadcast) m[10] = 0x80;
  put32(m + 12, w->client);
  memcpy(m + 28, mac, 6);
  memcpy(m + 236, cookie, 4);
  *at++ = PAD;
  *at++ = TYPE, *at++ = 1, *at++ = (uint8_t)w->type;
  if (w->requested) at = option32(at, REQUESTED, w->requested);
  if (w->server) at = option32(at, SERVER, w->server);
  *at++ = END;
  put16(udp + 4, (unsigned)(at - udp));
  put16(ip + 2, (unsigned)(at - ip));
  return (size_t)(at - frame);
}

/* Returns the type of the answer; 0: none. */
static int asked(struct wanted w) {
  uint8_t frame[512];
  const size_t size = dhcp_answer(frame, frame_of(frame, &w), &own, answer);
  return size == 0 ? 0 : answer[14 + 20 + 8 + 242];
}

static uint32_t given(void) { return get32(answer + 14 + 20 + 8 + 16); }

int main(void) {
  CHECK(lease_read(&own, mac, "198.18.5.7/24 fd00::7/64"));
  CHECK(own.address == 0xc6120507 && own.mask == 0xffffff00 && own.server == 0xc6120501);
  struct lease none;
  CHECK(!lease_read(&none, mac, "") && !lease_read(&none, mac, "fd00::7/64") && !lease_read(&none, mac, "198.18.5.7") && !lease_read(&none, mac, "1.2.3.4/31"));

  CHECK(asked((struct wanted){.type = DISCOVER}) == OFFER && given() == own.address);
  CHECK(memcmp(answer, mac, 6) == 0 && checksum(answer + 14, 20) == 0 && get32(answer + 14 + 16) == own.address);
  CHECK(get32(answer + 14 + 20 + 8 + 4) == 0xfeedbeef);
  CHECK(asked((struct wanted){.type = DISCOVER, .broadcast = true}) == OFFER && answer[0] == 0xff && get32(answer + 14 + 16) == ~0u);
  CHECK(asked((struct wanted){.type = REQUEST, .requested = own.address, .server = own.server}) == ACK && given() == own.address);
  /* A renewal goes to the client's address, and an old address is refused. */
  CHECK(asked((struct wanted){.type = REQUEST, .client = own.address}) == ACK && get32(answer + 14 + 16) == own.address);
  CHECK(asked((struct wanted){.type = REQUEST, .client = own.address + 1}) == NAK && given() == 0 && answer[0] == 0xff);
  CHECK(asked((struct wanted){.type = REQUEST, .requested = own.address + 1}) == NAK);
  /* Not for this server, or nothing that it answers. */
  CHECK(asked((struct wanted){.type = REQUEST, .requested = own.address, .server = own.server + 9}) == 0);
  CHECK(asked((struct wanted){.type = RELEASE, .client = own.address}) == 0 && asked((struct wanted){.type = DECLINE}) == 0 && asked((struct wanted){.type = 0}) == 0);
  CHECK(asked((struct wanted){.type = INFORM, .client = own.address}) == ACK && given() == 0);

  /* Another client, a fragment, another port and cut frames get no answer. */
  uint8_t frame[512];
  const struct wanted discover = {.type = DISCOVER};
  const size_t size = frame_of(frame, &discover);
  frame[14 + 20 + 8 + 28 + 5] ^= 1;
  CHECK(dhcp_answer(frame, size, &own, answer) == 0);
  frame_of(frame, &discover), frame[14 + 6] = 0x20;
  CHECK(dhcp_answer(frame, size, &own, answer) == 0);
  frame_of(frame, &discover), frame[14 + 20 + 3] = 53;
  CHECK(dhcp_answer(frame, size, &own, answer) == 0);
  frame_of(frame, &discover);
  for (size_t i = 0; i < size; i++) CHECK(dhcp_answer(frame, i, &own, answer) == 0);
  return 0;
}
