/* Writes pcapng. Each file has a section with one interface, so that it can be read without the others. */
#include "tap.h"
#include "../common/io.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 1 << 20, MAX_OPTION = UINT16_MAX /* bytes of an option, whose length has 16 bits */ };

static struct output_options options;
static uint8_t buffer[BUFFER];
static size_t used;
static int fd = -1;
static unsigned sequence;
static uint64_t written;

static void send_out(const uint8_t *data, size_t length) {
  if (write_all(fd, data, length)) return;
  if (options.pipe && errno == EPIPE) _exit(0); /* the reader has gone */
  end("error", strerror(errno));
}

void output_flush(void) {
  send_out(buffer, used);
  used = 0;
}

static void put(const void *data, size_t length) {
  if (used + length > BUFFER) output_flush();
  if (length > BUFFER) send_out(data, length);
  else memcpy(buffer + used, data, length), used += length;
  written += length;
}

static void put32(uint32_t value) { put(&value, sizeof value); }
static void put16(uint16_t value) { put(&value, sizeof value); }
static void pad(size_t length) { put("\0\0\0", -length & 3); }
static size_t padded(size_t length) { return (length + 3) & ~(size_t)3; }

static size_t option_length(const char *value) { return strnlen(value, MAX_OPTION); }

static void option(uint16_t code, const void *value, size_t length) {
  put16(code), put16((uint16_t)length);
  put(value, length);
  pad(length);
}

static size_t option_size(size_t length) { return 4 + padded(length); }

static void header(void) {
  const char *program = "Labwright";
  uint32_t size = (uint32_t)(28 + option_size(strlen(program)) + 4);
  uint64_t unknown = UINT64_MAX;
  put32(0x0a0d0d0a), put32(size), put32(0x1a2b3c4d), put16(1), put16(0);
  put(&unknown, sizeof unknown);
  option(4, program, strlen(program));
  put32(0), put32(size);

  /* Cuts a text that is too long for its option, so that the block stays valid. A filter option begins with its kind, 0 for text. */
  char filter[MAX_OPTION + 1] = {0};
  size_t name = option_length(options.name), description = option_length(options.description), filtered = 0;
  if (options.filter && *options.filter) filtered = 1 + strnlen(options.filter, MAX_OPTION - 1);
  if (filtered) memcpy(filter + 1, options.filter, filtered - 1);
  size = (uint32_t)(20 + option_size(name) + option_size(description) + option_size(1) + 4);
  if (filtered) size += (uint32_t)option_size(filtered);
  put32(1), put32(size), put16(1 /* Ethernet */), put16(0), put32(options.snaplen);
  option(2, options.name, name);
  option(3, options.description, description);
  option(9, "\11", 1); /* ns */
  if (filtered) option(11, filter, filtered);
  put32(0), put32(size);
}

static void file_name(char *name, size_t room, unsigned number) { snprintf(name, room, "packets_%06u.pcapng", number); }

static void next_file(void) {
  char name[64];
  if (fd >= 0) {
    output_flush();
    close(fd);
  }
  if (sequence >= options.files) {
    file_name(name, sizeof name, sequence - options.files + 1);
    unlink(name);
  }
  file_name(name, sizeof name, ++sequence);
  fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) end("error", strerror(errno));
  written = 0;
  header();
}

void output_open(const struct output_options *given) {
  options = *given;
  if (!options.pipe) return next_file();
  fd = 1;
  header();
}

void output_packet(const struct packet *p) {
  uint32_t size = (uint32_t)(32 + padded(p->captured) + 12);
  if (!options.pipe && written + size > options.file_bytes) next_file();
  put32(6), put32(size), put32(0), put32((uint32_t)(p->at >> 32)), put32((uint32_t)p->at), put32(p->captured), put32(p->length);
  put(p->data, p->captured);
  pad(p->captured);
  /* Direction, seen from the node: 1 received, 2 sent. */
  put16(2), put16(4), put32(p->sent ? 2 : 1), put32(0), put32(size);
}

/* An interface statistics block. */
void output_counters(const struct counters *c) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  uint64_t at = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec, received = c->packets + c->dropped;
  uint32_t size = 24 + 12 + 12 + 4;
  put32(5), put32(size), put32(0), put32((uint32_t)(at >> 32)), put32((uint32_t)at);
  option(4, &received, 8);
  option(5, &c->dropped, 8);
  put32(0), put32(size);
}
