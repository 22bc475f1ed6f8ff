/* A frame as the kernel delivers it, with its VLAN tag removed. The first eight bytes set the header. */
#define main tap_main
#include "../main.c"
#undef main
#include "../filter.c"
#include "../output.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static bool opened;
  if (size < 8) return 0;
  if (!opened) {
    char code[] = "4,40 0 0 12,21 0 1 2048,6 0 0 262144,6 0 0 0";
    if (!read_program(code, &program) || dup2(open("/dev/null", O_WRONLY), 1) != 1) abort();
    output_open(&(struct output_options){.name = "eth0", .description = "", .filter = "ip", .snaplen = WHOLE, .pipe = true});
    opened = true;
  }
  snaplen = (data[0] & 1) ? 64 : WHOLE;
  uint32_t captured = (uint32_t)size - 8;
  struct { struct tpacket3_hdr header; struct sockaddr_ll from; } *frame = malloc(sizeof *frame + captured);
  memset(frame, 0, sizeof *frame);
  frame->header.tp_mac = sizeof *frame;
  frame->header.tp_snaplen = captured;
  frame->header.tp_len = captured + data[1];
  frame->header.tp_status = ((data[0] & 2) ? TP_STATUS_VLAN_VALID : 0) | ((data[0] & 4) ? TP_STATUS_VLAN_TPID_VALID : 0);
  memcpy(&frame->header.hv1.tp_vlan_tci, data + 2, 2);
  memcpy(&frame->header.hv1.tp_vlan_tpid, data + 4, 2);
  frame->from.sll_pkttype = data[6];
  memcpy(frame + 1, data + 8, captured);
  handle_packet(&frame->header);
  free(frame);
  return 0;
}
