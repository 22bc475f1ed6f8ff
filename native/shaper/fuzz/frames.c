/*
 * Frames of nodes, as the kernel puts them into a ring. The first 16 bytes set delay, loss and bandwidth; then each frame has a byte of flags, two of
 * its length and its bytes.
 */
#include "../line.c"
#include <fcntl.h>
#include <linux/if_ether.h>

enum { SLOT = 2048, SLOTS = 8, FRAME_AT = 66 + 16 /* offset at which the kernel puts a frame: behind the headers, with room for a tag */ };

int epoll_fd = -1;
uint64_t seed = 4;
static int64_t now = 1000000000000;
int64_t now_ns(void) { return now; }

static uint32_t bytes(const uint8_t *at) { return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24; }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 16) return 0;
  struct end in = {.fd = -1, .ring = calloc(SLOTS, SLOT), .slot = SLOT, .slots = SLOTS, .bytes = SLOT * SLOTS};
  struct end out = {.fd = open("/dev/null", O_WRONLY)};
  struct direction d = {.out = &out};
  struct settings set = {
    .delay = bytes(data) % 3600000000, .jitter = bytes(data + 4) % 3600000000, .loss = bytes(data + 8) % 1000000001, .kbit = bytes(data + 12) % 1000000001,
  };
  flow_seed(&d, 1);
  flow_configure(&d, &set);
  for (size_t at = 16, slot = 0; at + 3 <= size; slot = (slot + 1) % SLOTS) {
    size_t length = (data[at + 1] | (size_t)data[at + 2] << 8) % (SLOT - FRAME_AT);
    if (length > size - at - 3) length = size - at - 3;
    struct tpacket2_hdr *h = (void *)(in.ring + slot * SLOT);
    *h = (struct tpacket2_hdr){.tp_mac = FRAME_AT, .tp_snaplen = (uint32_t)length, .tp_len = (uint32_t)length + (data[at] & 1), .tp_vlan_tci = data[at]};
    h->tp_status = TP_STATUS_USER | (data[at] & 2 ? TP_STATUS_VLAN_VALID : 0) | (data[at] & 4 ? TP_STATUS_VLAN_TPID_VALID : 0);
    memcpy((char *)h + FRAME_AT, data + at + 3, length);
    at += 3 + length;
    if (!end_waiting(&in)) abort();
    receive_frames(&d, &in);
    if (h->tp_status != TP_STATUS_KERNEL) abort();
    now += data[at - 1] * 1000;
    release_due();
  }
  now += 100000000000;
  for (int rounds = 0; next_due() != INT64_MAX; rounds++) {
    release_due();
    if (rounds > 100) abort();
  }
  if (held || d.queued) abort(); /* all queued frames have left */
  close(out.fd);
  free(in.ring);
  return 0;
}
