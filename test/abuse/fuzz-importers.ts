import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { Failure } from "../../src/contract/errors.ts";
import { unpackLab } from "../../src/files/lab-archive/unpack-lab.ts";
import { readTables, shippedTables } from "../../src/files/mapping-tables.ts";
import { packagePath } from "../../src/files/program-path.ts";
import { unpackSource } from "../../src/files/source/read-source.ts";
import { ArchiveError } from "../../src/files/tar/archive-error.ts";
import { importLab } from "../../src/importers/import-lab.ts";
import { readMapping } from "../../src/importers/mapping/read-mapping.ts";
import { SourceFiles } from "../../src/importers/source/source-files.ts";
import { Random } from "./random.ts";

/** A file of another tool, which the fuzzer changes. */
export interface Seed {
  /** One of the importers, or `archive`. */
  readonly format: string;
  readonly name: string;
  readonly bytes: Buffer;
}

const folders: Readonly<Record<string, string>> = {
  containerlab: "containerlab/samples",
  eve: "eve/samples",
  cml: "cml/samples",
  virl: "virl/samples",
  gns3: "gns3/projects",
  netlab: "netlab/projects",
  kathara: "kathara/projects",
  dot: "graphs/projects",
  mermaid: "graphs/projects",
};
const names: Readonly<Record<string, RegExp>> = {
  gns3: /\.gns3$/,
  kathara: /^lab\.conf$/,
  dot: /\.(dot|gv)$/,
  mermaid: /\.(mmd|mermaid|md)$/,
};

/** Returns the corpus: the samples of the importers, and what was found once (corpus/FORMAT-NAME). */
export function seeds(): readonly Seed[] {
  const samples = Object.entries(folders).flatMap(([format, folder]) => {
    const root = packagePath(`src/importers/formats/${folder}`);
    const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((path) => statSync(join(root, path)).isFile());
    const labs = files.filter((path) => (names[format] ?? /./).test(basename(path)));
    return labs.sort().map((path) => ({ format, name: basename(path), bytes: readFileSync(join(root, path)) }));
  });
  const root = packagePath("test/abuse/corpus");
  const found = readdirSync(root).map((file) => {
    const [format = "", ...rest] = file.split("-");
    return { format, name: rest.join("-"), bytes: readFileSync(join(root, file)) };
  });
  return [...samples, ...found];
}

/** Reads a source as imports do. Returns a message if anything but a clear refusal is thrown, or if it takes longer than a user waits. */
export async function tryImport({ format, name, bytes }: Seed, limitMs: number): Promise<string | undefined> {
  const started = performance.now();
  try {
    const unpacked = await unpackSource(bytes, name);
    if (unpackLab(unpacked) === undefined) importLab(new SourceFiles(unpacked.files), await optionsFor(format));
  } catch (error) {
    const isClear = error instanceof ArchiveError || (error instanceof Failure && error.code === "invalid_source");
    if (!isClear || error.message.length > 5_000)
      return `${format} ${name}: ${error instanceof Error ? error.stack : String(error)}`.slice(0, 2_000);
  }
  const ms = performance.now() - started;
  return ms > limitMs ? `${format} ${name}: took ${Math.round(ms)} ms` : undefined;
}

let mapping: ReturnType<typeof readMapping> | undefined;

async function optionsFor(format: string) {
  mapping ??= readMapping(await readTables([shippedTables()]));
  const isImporter = Object.hasOwn(folders, format);
  return { mapping, substitute: "frr" as const, translateConfigs: true, ...(isImporter && { format }) };
}

const pieces = [
  ..."\n\"'{}[]():;,-<>&*|#=/\\$!%\0",
  "-->",
  "--",
  "<!--",
  "]]>",
  "<![CDATA[",
  "&a;",
  "&a ",
  "*a",
  "<<: ",
  "__proto__",
  "../",
  "null",
  "-1",
];
const longer = [
  "99999999999",
  "1e999",
  "\u{1F600}",
  "\uFEFF",
  "\r\n",
  "subgraph x\n",
  "$" + "{A:=$" + "{B}}",
  "{{.}}",
  '{"a":',
  "!!binary ",
  "---\n",
  "\t",
];
const words = [...pieces, ...longer].map((text) => Buffer.from(text));

/** Changes bytes in some places: removes, repeats, moves, adds a word, flips a bit, or takes a part of another seed. */
export function mutated(random: Random, seed: Seed, others: readonly Seed[]): Seed {
  const isPacked = seed.name.endsWith(".labwright.tar.gz") && random.chance(0.7);
  let bytes = isPacked ? gunzipSync(seed.bytes) : seed.bytes;
  for (let left = 1 + random.int(6); left > 0; left--) bytes = changedOnce(random, bytes, random.pick(others).bytes);
  return { ...seed, bytes: isPacked ? gzipSync(bytes) : bytes };
}

function changedOnce(random: Random, bytes: Buffer, other: Buffer): Buffer {
  const at = random.int(bytes.length + 1);
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)];
  const part = after.subarray(0, 1 + random.int(80));
  const rest = after.subarray(part.length);
  const ways = {
    remove: () => [before, rest],
    repeat: () => [before, ...Array.from({ length: 2 + random.int(random.chance(0.05) ? 3_000 : 8) }, () => part), rest],
    add: () => [before, random.pick(words), after],
    replace: () => [before, random.pick(words), rest],
    flip: () => [before, Buffer.from(part.map((byte, index) => (index === 0 ? byte ^ (1 << random.int(8)) : byte))), rest],
    splice: () => {
      const from = random.int(other.length + 1);
      return [before, other.subarray(from, from + random.int(400)), rest];
    },
    cut: () => [before],
  };
  const way = random.weighted({ remove: 3, repeat: 2, add: 4, replace: 4, flip: 2, splice: 2, cut: 1 });
  return Buffer.concat(ways[way]());
}

export interface ImportFuzzing {
  readonly seed: number;
  readonly milliseconds: number;
  /** Maximum number of inputs. Absent: unlimited. */
  readonly inputs?: number;
  /** Absent: all. */
  readonly format?: string | undefined;
  /** Of one input. */
  readonly limitMs: number;
}

/** Imports changed seeds. Returns the number of inputs, and the inputs that failed with their messages. */
export async function fuzzImporters({
  seed,
  milliseconds,
  inputs: most = Number.POSITIVE_INFINITY,
  format,
  limitMs,
}: ImportFuzzing): Promise<{
  readonly inputs: number;
  readonly failures: readonly { readonly input: Seed; readonly message: string }[];
}> {
  const all = seeds();
  const chosen = all.filter((each) => format === undefined || each.format === format);
  const failures: { input: Seed; message: string }[] = [];
  const end = performance.now() + milliseconds;
  let inputs = 0;
  while (performance.now() < end && inputs < most && failures.length < 20) {
    const random = new Random(seed, inputs++);
    const input = mutated(random, random.pick(chosen), all);
    const message = await tryImport(input, limitMs);
    if (message !== undefined) failures.push({ input, message: `seed ${seed}, input ${inputs - 1}: ${message}` });
  }
  return { inputs, failures };
}

/** Fuzzes with printed results. Each input that fails becomes a seed, so that `npm test` fails until its cause is repaired. Returns the number of failures. */
export async function fuzzAndKeep(options: ImportFuzzing): Promise<number> {
  const { inputs, failures } = await fuzzImporters(options);
  console.log(`importers: ${inputs} files in ${Math.round(options.milliseconds / 1000)} s, ${failures.length} failures`);
  for (const [index, { input, message }] of failures.entries()) {
    console.log(message);
    writeFileSync(packagePath(`test/abuse/corpus/${input.format}-found${options.seed}x${index}-${input.name}`), input.bytes);
  }
  return failures.length;
}
