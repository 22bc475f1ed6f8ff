/* Interprets classic BPF, the compiled form of pcap filters. In user space, because the kernel removes the VLAN tag from a frame before its own filters. */
#include "tap.h"
#include <stdlib.h>

enum { MAX_INSTRUCTIONS = 4096, CELLS = BPF_MEMWORDS };

static bool jumps_inside(const struct program *p) {
  for (size_t i = 0; i < p->length; i++) {
    const struct sock_filter *s = &p->code[i];
    size_t left = p->length - i - 1;
    if (BPF_CLASS(s->code) == BPF_JMP) {
      if (BPF_OP(s->code) == BPF_JA ? s->k >= left : s->jt >= left || s->jf >= left) return false;
    }
    bool cell = BPF_CLASS(s->code) == BPF_ST || BPF_CLASS(s->code) == BPF_STX ||
                ((BPF_CLASS(s->code) == BPF_LD || BPF_CLASS(s->code) == BPF_LDX) && BPF_MODE(s->code) == BPF_MEM);
    if (cell && s->k >= CELLS) return false;
  }
  return BPF_CLASS(p->code[p->length - 1].code) == BPF_RET;
}

bool read_program(const char *text, struct program *p) {
  char *at;
  unsigned long count = strtoul(text, &at, 10);
  if (at == text || count == 0 || count > MAX_INSTRUCTIONS) return false;
  *p = (struct program){.code = calloc(count, sizeof *p->code), .length = count};
  if (!p->code) return false;
  for (size_t i = 0; i < count; i++) {
    unsigned long field[4];
    if (*at++ != ',') return false;
    for (int f = 0; f < 4; f++) {
      char *from = at;
      field[f] = strtoul(from, &at, 10);
      if (at == from) return false;
    }
    if (field[0] > UINT16_MAX || field[1] > UINT8_MAX || field[2] > UINT8_MAX || field[3] > UINT32_MAX) return false;
    p->code[i] = (struct sock_filter){(uint16_t)field[0], (uint8_t)field[1], (uint8_t)field[2], (uint32_t)field[3]};
  }
  return *at == 0 && jumps_inside(p);
}

/* Reads the value at an offset. Returns false if the packet is too short. */
static bool load(const uint8_t *data, uint32_t captured, uint64_t at, unsigned size, uint32_t *value) {
  if (at + size > captured) return false;
  const uint8_t *b = data + at;
  *value = size == 1 ? b[0] : size == 2 ? (uint32_t)b[0] << 8 | b[1] : (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
  return true;
}

uint32_t run_program(const struct program *p, const uint8_t *data, uint32_t length, uint32_t captured) {
  uint32_t a = 0, x = 0, mem[CELLS] = {0};
  for (size_t pc = 0; pc < p->length; pc++) {
    const struct sock_filter *s = &p->code[pc];
    uint32_t k = s->k, operand = BPF_SRC(s->code) == BPF_X ? x : k;
    switch (BPF_CLASS(s->code)) {
      case BPF_RET: return BPF_RVAL(s->code) == BPF_A ? a : k;
      case BPF_LD:
      case BPF_LDX: {
        uint32_t value = 0, byte;
        unsigned size = BPF_SIZE(s->code) == BPF_B ? 1 : BPF_SIZE(s->code) == BPF_H ? 2 : 4;
        switch (BPF_MODE(s->code)) {
          case BPF_IMM: value = k; break;
          case BPF_LEN: value = length; break;
          case BPF_MEM: value = mem[k]; break;
          case BPF_ABS: if (!load(data, captured, k, size, &value)) return 0; break;
          case BPF_IND: if (!load(data, captured, (uint64_t)x + k, size, &value)) return 0; break;
          case BPF_MSH: if (!load(data, captured, k, 1, &byte)) return 0; value = (byte & 15) * 4; break;
          default: return 0;
        }
        if (BPF_CLASS(s->code) == BPF_LD) a = value;
        else x = value;
        break;
      }
      case BPF_ST: mem[k] = a; break;
      case BPF_STX: mem[k] = x; break;
      case BPF_ALU:
        switch (BPF_OP(s->code)) {
          case BPF_ADD: a += operand; break;
          case BPF_SUB: a -= operand; break;
          case BPF_MUL: a *= operand; break;
          case BPF_DIV: if (!operand) return 0; a /= operand; break;
          case BPF_MOD: if (!operand) return 0; a %= operand; break;
          case BPF_AND: a &= operand; break;
          case BPF_OR: a |= operand; break;
          case BPF_XOR: a ^= operand; break;
          case BPF_LSH: a = operand < 32 ? a << operand : 0; break;
          case BPF_RSH: a = operand < 32 ? a >> operand : 0; break;
          case BPF_NEG: a = -a; break;
          default: return 0;
        }
        break;
      case BPF_JMP: {
        bool yes = false;
        switch (BPF_OP(s->code)) {
          case BPF_JA: pc += k; continue;
          case BPF_JEQ: yes = a == operand; break;
          case BPF_JGT: yes = a > operand; break;
          case BPF_JGE: yes = a >= operand; break;
          case BPF_JSET: yes = (a & operand) != 0; break;
          default: return 0;
        }
        pc += yes ? s->jt : s->jf;
        break;
      }
      case BPF_MISC: if (BPF_MISCOP(s->code) == BPF_TAX) x = a; else a = x; break;
    }
  }
  return 0;
}
