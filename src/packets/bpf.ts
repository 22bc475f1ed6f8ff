/** A compiled pcap filter: classic BPF as `tcpdump -ddd` prints it. */
export interface PacketFilter {
  /** code, jt, jf, k of each instruction, in one row. */
  readonly code: Uint32Array;
}

const classes = { ld: 0, ldx: 1, st: 2, stx: 3, alu: 4, jmp: 5, ret: 6, misc: 7 } as const;

/** Parses "COUNT,CODE JT JF K,…". Throws RangeError for any other text. */
export function packetFilter(text: string): PacketFilter {
  const [count, ...rows] = text.split(",");
  const numbers = rows.flatMap((row) => row.split(" ").map(Number));
  const good = Number(count) === rows.length && rows.length > 0 && numbers.length === rows.length * 4 && numbers.every((one) => one >= 0);
  if (!good) throw new RangeError("no compiled filter");
  return { code: Uint32Array.from(numbers) };
}

/** Whether the filter accepts the packet. `length` is the length on the wire; loading from beyond `data` rejects the packet. */
export function passes({ code }: PacketFilter, data: Uint8Array, length: number): boolean {
  const memory = new Uint32Array(16);
  let a = 0;
  let x = 0;
  for (let at = 0; at + 4 <= code.length; at += 4) {
    const op = code[at]!;
    const k = code[at + 3]!;
    const operand = (op & 0x08) === 0 ? k : x;
    switch (op & 0x07) {
      case classes.ret:
        return ((op & 0x18) === 0x10 ? a : k) !== 0;
      case classes.ld:
      case classes.ldx: {
        const value = load(op, k, x, data, length, memory);
        if (value === undefined) return false;
        if ((op & 0x07) === classes.ld) a = value;
        else x = value;
        break;
      }
      case classes.st:
        memory[k & 15] = a;
        break;
      case classes.stx:
        memory[k & 15] = x;
        break;
      case classes.alu: {
        const value = compute(op & 0xf0, a, operand);
        if (value === undefined) return false;
        a = value;
        break;
      }
      case classes.jmp: {
        const test = op & 0xf0;
        if (test === 0) {
          at += k * 4;
          break;
        }
        const yes = test === 0x10 ? a === operand : test === 0x20 ? a > operand : test === 0x30 ? a >= operand : (a & operand) !== 0;
        at += code[at + (yes ? 1 : 2)]! * 4;
        break;
      }
      default:
        if ((op & 0xf8) === 0) x = a;
        else a = x;
    }
  }
  return false;
}

function load(op: number, k: number, x: number, data: Uint8Array, length: number, memory: Uint32Array): number | undefined {
  switch (op & 0xe0) {
    case 0x00:
      return k;
    case 0x20:
      return loadAt(op & 0x18, k, data);
    case 0x40:
      return loadAt(op & 0x18, k + x, data);
    case 0x60:
      return memory[k & 15];
    case 0x80:
      return length;
    case 0xa0:
      return data[k] === undefined ? undefined : (data[k] & 15) * 4;
    default:
      return undefined;
  }
}

function loadAt(size: number, at: number, data: Uint8Array): number | undefined {
  const bytes = size === 0x10 ? 1 : size === 0x08 ? 2 : 4;
  if (at + bytes > data.length) return undefined;
  let value = 0;
  for (let i = 0; i < bytes; i++) value = value * 256 + data[at + i]!;
  return value;
}

function compute(op: number, a: number, b: number): number | undefined {
  switch (op) {
    case 0x00:
      return (a + b) >>> 0;
    case 0x10:
      return (a - b) >>> 0;
    case 0x20:
      return Math.imul(a, b) >>> 0;
    case 0x30:
      return b === 0 ? undefined : Math.floor(a / b);
    case 0x40:
      return (a | b) >>> 0;
    case 0x50:
      return (a & b) >>> 0;
    case 0x60:
      return b < 32 ? (a << b) >>> 0 : 0;
    case 0x70:
      return b < 32 ? a >>> b : 0;
    case 0x80:
      return -a >>> 0;
    case 0x90:
      return b === 0 ? undefined : a % b;
    case 0xa0:
      return (a ^ b) >>> 0;
    default:
      return undefined;
  }
}
