/*
 * labwright-tap: takes the packets of one device and writes them as pcapng, each with its direction. See README.md.
 *
 *   labwright-tap capture=<id> dir=<directory> port=<device> name=<text> …   a capture: prints its pid when packets are taken, and goes on
 *   labwright-tap watch port=<device> name=<text> …                          to standard output, until nobody reads it
 *   labwright-tap probe port=<device>                                        whether this kernel lets it work
 *
 *   description=<text> filter=<text> program=<compiled filter> snaplen=<bytes> file-bytes=<bytes> files=<number> seconds=<number>
 */
#include "tap.h"
#include "../common/number.h"
#include "../common/seccomp.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
  BLOCK = 512 << 10,
  BLOCKS = 16,
  RETIRE_MS = 20, /* the kernel delivers a block that is not full after this time */
  WHOLE = 262144,
  MAX_SECONDS = 1 << 30,
};

static const char *capture, *port, *name, *description = "", *filter = "", *directory;
static struct program program;
static uint32_t snaplen = WHOLE;
static uint64_t file_bytes = 8 << 20, seconds;
static unsigned files = 8;
static int ring_fd, ready_fd = -1, end_file = -1, port_index;
static uint8_t *ring;
static struct counters counters;
static volatile sig_atomic_t stopping;

/* Ends the program. The reason of a capture's end goes to the file "end", which the service reads later. */
_Noreturn void end(const char *how, const char *words) {
  if (ready_fd >= 0) dprintf(ready_fd, "%s: %s", how, words);
  else if (!capture) dprintf(2, "labwright-tap: %s: %s\n", how, words);
  if (capture && ready_fd < 0) {
    char text[512];
    int length = snprintf(text, sizeof text, "%s\n%s\n", how, words);
    if (length >= (int)sizeof text) length = sizeof text - 1;
    if (end_file >= 0 && pwrite(end_file, text, (size_t)length, 0) == length && ftruncate(end_file, length) == 0) rename("end.new", "end");
  }
  _exit(strcmp(how, "error") == 0);
}

static void fail(const char *step) {
  char words[256];
  snprintf(words, sizeof words, "%s: %s", step, strerror(errno));
  end("error", words);
}

/* Reserves space for the file "end", which must be written even if the disk is full. */
static void reserve_end(void) {
  static const char room[512];
  end_file = open("end.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (end_file < 0 || write(end_file, room, sizeof room) != sizeof room) fail("end.new");
}

static void on_signal(int signal) {
  (void)signal;
  stopping = 1;
}

static int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void open_ring(void) {
  ring_fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
  if (ring_fd < 0) fail("packet socket");
  port_index = (int)if_nametoindex(port);
  if (port_index == 0) end("gone", "there is no such device");
  int version = TPACKET_V3;
  if (setsockopt(ring_fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version) < 0) fail("packet ring of version 3");
  /* The kernel copies only the first `snaplen` bytes, or all if a filter must read them. A VLAN tag that is put back adds 4 bytes. */
  struct sock_filter keep = {BPF_RET | BPF_K, 0, 0, program.code ? WHOLE : snaplen};
  struct sock_fprog kept = {1, &keep};
  if (setsockopt(ring_fd, SOL_SOCKET, SO_ATTACH_FILTER, &kept, sizeof kept) < 0) fail("packet filter");
  struct tpacket_req3 request = {
    .tp_block_size = BLOCK, .tp_block_nr = BLOCKS, .tp_frame_size = 2048, .tp_frame_nr = BLOCK / 2048 * BLOCKS, .tp_retire_blk_tov = RETIRE_MS,
  };
  if (setsockopt(ring_fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof request) < 0) fail("packet ring");
  ring = mmap(NULL, (size_t)BLOCK * BLOCKS, PROT_READ | PROT_WRITE, MAP_SHARED, ring_fd, 0);
  if (ring == MAP_FAILED) fail("packet ring in memory");
  struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = port_index};
  if (bind(ring_fd, (struct sockaddr *)&address, sizeof address) < 0) fail(port);
}

/* The rest of the program needs no privilege. */
static void drop_privileges(void) {
  if (capabilities_set(0) < 0) fail("give up privileges");
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

static void handle_packet(const struct tpacket3_hdr *h) {
  static uint8_t tagged[WHOLE + 4];
  const struct sockaddr_ll *from = (const void *)((const uint8_t *)h + TPACKET_ALIGN(sizeof *h));
  struct packet p = {
    .at = (uint64_t)h->tp_sec * 1000000000u + h->tp_nsec, .data = (const uint8_t *)h + h->tp_mac, .length = h->tp_len, .captured = h->tp_snaplen,
    /* Seen from the node: a frame that goes out of the fabric's end of the port is received by the node. */
    .sent = from->sll_pkttype != PACKET_OUTGOING,
  };
  if (h->tp_status & TP_STATUS_VLAN_VALID && p.captured >= 12 && p.captured <= WHOLE) {
    uint16_t tag[2] = {htons(h->tp_status & TP_STATUS_VLAN_TPID_VALID ? h->hv1.tp_vlan_tpid : ETH_P_8021Q), htons((uint16_t)h->hv1.tp_vlan_tci)};
    memcpy(tagged, p.data, 12);
    memcpy(tagged + 12, tag, 4);
    memcpy(tagged + 16, p.data + 12, p.captured - 12);
    p.data = tagged;
    p.captured += 4;
    p.length += 4;
  }
  if (program.code && run_program(&program, p.data, p.length, p.captured) == 0) return;
  if (p.captured > snaplen) p.captured = snaplen;
  counters.packets++;
  output_packet(&p);
}

/* Handles the blocks that the kernel has delivered. Returns whether there were any. */
static bool drain(void) {
  static unsigned at;
  bool any = false;
  for (;;) {
    struct tpacket_block_desc *block = (void *)(ring + (size_t)at * BLOCK);
    if (!(__atomic_load_n(&block->hdr.bh1.block_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER)) return any;
    const uint8_t *frame = (const uint8_t *)block + block->hdr.bh1.offset_to_first_pkt;
    for (uint32_t i = 0; i < block->hdr.bh1.num_pkts; i++) {
      const struct tpacket3_hdr *h = (const void *)frame;
      handle_packet(h);
      frame += h->tp_next_offset;
    }
    __atomic_store_n(&block->hdr.bh1.block_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
    at = (at + 1) % BLOCKS;
    any = true;
  }
}

static void count_drops(void) {
  struct tpacket_stats_v3 stats;
  socklen_t size = sizeof stats;
  if (getsockopt(ring_fd, SOL_PACKET, PACKET_STATISTICS, &stats, &size) == 0) counters.dropped += stats.tp_drops;
}

/* Writes the counters for the service in one write, so that they are always complete. */
static void report_counters(bool at_end) {
  static struct counters reported = {UINT64_MAX, 0};
  count_drops();
  if (!capture) {
    if (reported.packets != counters.packets || reported.dropped != counters.dropped) output_counters(&counters);
  } else if (reported.packets != counters.packets || reported.dropped != counters.dropped) {
    static int file = -1;
    char text[64];
    int length = snprintf(text, sizeof text, "%20llu %20llu\n", (unsigned long long)counters.packets, (unsigned long long)counters.dropped);
    if (file < 0) file = open("counters", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || pwrite(file, text, (size_t)length, 0) != length) fail("write the file counters");
  }
  reported = counters;
  if (at_end && capture) output_counters(&counters);
  output_flush();
}

static bool port_is_gone(void) {
  struct ifreq request = {.ifr_ifindex = port_index};
  return ioctl(ring_fd, SIOCGIFNAME, &request) < 0;
}

static _Noreturn void run(void) {
  int64_t reported = 0, until = seconds ? now_ms() + (int64_t)seconds * 1000 : INT64_MAX;
  const char *how = "stopped", *words = "";
  struct pollfd poller[2] = {{.fd = ring_fd, .events = POLLIN | POLLERR}, {.fd = capture ? -1 : 1, .events = 0}};
  for (;;) {
    poll(poller, 2, 250);
    if (poller[1].revents & (POLLERR | POLLHUP)) _exit(0); /* the reader has gone */
    if (poller[0].revents & POLLERR) {
      int error;
      socklen_t size = sizeof error;
      getsockopt(ring_fd, SOL_SOCKET, SO_ERROR, &error, &size); /* the device went down; it may come up again */
    }
    bool any = drain();
    if (any) output_flush();
    int64_t now = now_ms();
    bool due = now - reported >= 250;
    if (due) report_counters(false), reported = now;
    /* Checked from time to time: the kernel reports that a device goes down, but not that it is removed. */
    if (due && port_is_gone()) how = "gone";
    else if (now >= until) how = "seconds";
    else if (!stopping) continue;
    break;
  }
  /* Also takes the blocks that the kernel has not delivered yet. */
  for (int64_t last = now_ms() + 4 * RETIRE_MS; now_ms() < last; poll(NULL, 0, RETIRE_MS)) drain();
  drain();
  report_counters(true);
  end(how, words);
}

/* Starts a session of its own, which does not end with the caller. The caller gets its pid when packets are taken. */
static void become_daemon(void) {
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) < 0) fail("pipe");
  pid_t pid = fork();
  if (pid < 0) fail("fork");
  if (pid > 0) {
    char words[512];
    close(ready[1]);
    ssize_t n = read(ready[0], words, sizeof words - 1);
    if (n == 1) {
      printf("%d\n", pid);
      exit(0);
    }
    fprintf(stderr, "%.*s\n", n > 0 ? (int)n : 24, n > 0 ? words : "error: it died at start");
    exit(n > 4 && !strncmp(words, "gone", 4) ? 3 : 1);
  }
  setsid();
  close(ready[0]);
  ready_fd = ready[1];
  int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int i = 0; i < 3 && nowhere >= 0; i++) dup2(nowhere, i);
}

static const char *value_of(const char *argument, const char *key) {
  size_t length = strlen(key);
  return strncmp(argument, key, length) == 0 && argument[length] == '=' ? argument + length + 1 : NULL;
}

static bool number_of(const char *text, uint64_t max, uint64_t *number) { return read_number(&text, max, number) && !*text; }

static bool read_argument(const char *argument) {
  const char *v;
  uint64_t number;
  if ((v = value_of(argument, "capture"))) capture = v;
  else if ((v = value_of(argument, "dir"))) directory = v;
  else if ((v = value_of(argument, "port"))) port = v;
  else if ((v = value_of(argument, "name"))) name = v;
  else if ((v = value_of(argument, "description"))) description = v;
  else if ((v = value_of(argument, "filter"))) filter = v;
  else if ((v = value_of(argument, "program"))) return read_program(v, &program);
  else if ((v = value_of(argument, "snaplen"))) return number_of(v, WHOLE, &number) ? snaplen = (uint32_t)number, true : false;
  else if ((v = value_of(argument, "files"))) return number_of(v, UINT_MAX, &number) ? files = (unsigned)number, true : false;
  else if ((v = value_of(argument, "file-bytes"))) return number_of(v, INT64_MAX, &file_bytes);
  else if ((v = value_of(argument, "seconds"))) return number_of(v, MAX_SECONDS, &seconds);
  else return strcmp(argument, "watch") == 0 || strcmp(argument, "probe") == 0;
  return true;
}

int main(int argc, char **argv) {
  bool good = true, probe = argc > 1 && !strcmp(argv[1], "probe");
  for (int i = 1; i < argc; i++) good = read_argument(argv[i]) && good;
  if (!name) name = port;
  good = good && port && strlen(port) < IF_NAMESIZE && strlen(name) < 1024 && strlen(description) < 4096 && snaplen >= 1 && snaplen <= WHOLE;
  if (!good || files < 2 || file_bytes < 4096 || !capture != !directory) {
    fprintf(stderr, "usage: labwright-tap capture=<id> dir=<directory> | watch | probe  port=<device> name=<text> …\n");
    return 2;
  }
  prctl(PR_SET_NAME, "labwright-tap", 0, 0, 0);
  if (capture && chdir(directory) < 0) {
    fprintf(stderr, "error: %s: %s\n", directory, strerror(errno));
    return 1;
  }
  struct sigaction stop = {.sa_handler = on_signal};
  sigaction(SIGTERM, &stop, NULL);
  sigaction(SIGINT, &stop, NULL);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  if (capture) {
    become_daemon();
    reserve_end();
  }
  open_ring();
  drop_privileges();
  if (probe) return 0;
  output_open(&(struct output_options){
    .name = name, .description = description, .filter = filter, .snaplen = snaplen, .file_bytes = file_bytes, .files = files, .pipe = !capture,
  });
  output_flush();
  if (ready_fd >= 0) {
    if (write(ready_fd, "", 1) != 1) _exit(1);
    close(ready_fd);
    ready_fd = -1;
  }
  run();
}
