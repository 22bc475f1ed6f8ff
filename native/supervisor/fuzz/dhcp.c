/* Frames of a guest in the management network. */
#include "../dhcp.c"
#include "../../fuzz/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const unsigned char mac[] = {2, 1, 2, 0, 3, 255};
  uint8_t answer[DHCP_MOST];
  struct lease l;
  CHECK(lease_read(&l, mac, "198.18.5.7/24"));
  const size_t got = dhcp_answer(data, size, &l, answer);
  CHECK(got == 0 || got == sizeof answer);
  if (got == 0) return 0;
  /* It gives no other address, and answers nobody else. */
  const uint32_t given = get32(answer + 14 + 20 + 8 + 16);
  CHECK(given == 0 || given == l.address);
  CHECK(memcmp(answer, mac, 6) == 0 || memcmp(answer, "\xff\xff\xff\xff\xff\xff", 6) == 0);
  CHECK(checksum(answer + 14, 20) == 0);
  return 0;
}
