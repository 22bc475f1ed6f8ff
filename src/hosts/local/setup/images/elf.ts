/** The dynamic loader and the libraries of an ELF file. */
export interface ElfNeeds {
  /** DT_NEEDED: names of shared libraries. */
  readonly needed: readonly string[];
  /** DT_RUNPATH or DT_RPATH, as written. */
  readonly runpath: readonly string[];
  /** Path of the dynamic loader, for programs. */
  readonly interpreter?: string;
}

const PT_LOAD = 1;
const PT_DYNAMIC = 2;
const PT_INTERP = 3;
const DT_NEEDED = 1n;
const DT_STRTAB = 5n;
const DT_RPATH = 15n;
const DT_RUNPATH = 29n;

/** Returns `undefined` if it is not a 64-bit little-endian ELF file. A static program has no loader and no libraries. */
export function elfNeeds(bytes: Buffer): ElfNeeds | undefined {
  if (bytes.length < 64 || bytes.readUInt32BE(0) !== 0x7f454c46 || bytes[4] !== 2 || bytes[5] !== 1) return undefined;
  const segments = programHeaders(bytes);
  const interp = segments.find((segment) => segment.type === PT_INTERP);
  const dynamic = segments.find((segment) => segment.type === PT_DYNAMIC);
  const entries = dynamic === undefined ? [] : dynamicEntries(bytes, dynamic);
  const table = entries.find((entry) => entry.tag === DT_STRTAB);
  const strings = table === undefined ? 0 : fileOffset(segments, Number(table.value));
  const texts = (...tags: readonly bigint[]): string[] =>
    entries.filter((entry) => tags.includes(entry.tag)).map((entry) => cString(bytes, strings + Number(entry.value)));
  return {
    needed: texts(DT_NEEDED),
    runpath: texts(DT_RUNPATH, DT_RPATH).flatMap((path) => path.split(":").filter((part) => part !== "")),
    ...(interp === undefined ? {} : { interpreter: cString(bytes, interp.offset) }),
  };
}

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
}

function programHeaders(bytes: Buffer): readonly Segment[] {
  const start = Number(bytes.readBigUInt64LE(32));
  const size = bytes.readUInt16LE(54);
  const count = bytes.readUInt16LE(56);
  return Array.from({ length: count }, (_, index) => {
    const at = start + index * size;
    return {
      type: bytes.readUInt32LE(at),
      offset: Number(bytes.readBigUInt64LE(at + 8)),
      address: Number(bytes.readBigUInt64LE(at + 16)),
      size: Number(bytes.readBigUInt64LE(at + 32)),
    };
  });
}

function dynamicEntries(bytes: Buffer, segment: Segment): readonly { readonly tag: bigint; readonly value: bigint }[] {
  const entries = [];
  for (let at = segment.offset; at < segment.offset + segment.size; at += 16) {
    const tag = bytes.readBigInt64LE(at);
    if (tag === 0n) break;
    entries.push({ tag, value: bytes.readBigUInt64LE(at + 8) });
  }
  return entries;
}

function fileOffset(segments: readonly Segment[], address: number): number {
  const home = segments.find((s) => s.type === PT_LOAD && address >= s.address && address < s.address + s.size);
  if (home === undefined) throw new Error(`no segment holds address ${address}`);
  return address - home.address + home.offset;
}

function cString(bytes: Buffer, at: number): string {
  return bytes.toString("utf8", at, bytes.indexOf(0, at));
}
