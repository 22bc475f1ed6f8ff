/* Declarations of the tap's parts. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include <linux/filter.h>

/* One captured packet: the Ethernet frame with its VLAN tag where the sender put it. */
struct packet {
  uint64_t at; /* ns since 1970 */
  const uint8_t *data;
  uint32_t length, captured;
  bool sent; /* sent by the node; otherwise received by it */
};

struct counters { uint64_t packets, dropped; };

/* filter.c */
struct program { struct sock_filter *code; size_t length; };
/* Parses "COUNT,OP JT JF K,…", the output of tcpdump -ddd with commas for line breaks. Returns false if it is malformed. */
bool read_program(const char *text, struct program *p);
/* Runs the program on a packet. Returns how many bytes to keep, 0 to drop the packet. Only loads from the packet data are supported. */
uint32_t run_program(const struct program *p, const uint8_t *data, uint32_t length, uint32_t captured);

/* output.c: a ring of files in the working directory, or standard output. Each function ends the process with a message if it cannot write. */
struct output_options { const char *name, *description, *filter; uint32_t snaplen; uint64_t file_bytes; unsigned files; bool pipe; };
void output_open(const struct output_options *options);
void output_packet(const struct packet *p);
void output_counters(const struct counters *c);
void output_flush(void);

/* main.c */
_Noreturn void end(const char *how, const char *words);
