import type { ShownReading } from "./tasks.ts";

type Files = Readonly<Record<string, string>>;

interface Read {
  readonly yaml: string;
  readonly files: Files;
  /** Characters of the text and the files together. */
  readonly characters: number;
  readonly reading: Promise<ShownReading>;
}

/**
 * Cache of the latest parse results, including parses in progress: a plan and the change after it parse the same text, and so do all pollers of
 * a lab. Bounded in number and size.
 */
export class RecentReads {
  readonly #maxReads: number;
  readonly #maxCharacters: number;
  /** The newest last. */
  #reads: readonly Read[] = [];

  constructor(maxReads = 32, maxCharacters = 4 << 20) {
    this.#maxReads = maxReads;
    this.#maxCharacters = maxCharacters;
  }

  /** Returns the result of `read`, or its cached result for the same text and files. Failures are not cached. */
  get(yaml: string, files: Files, read: () => Promise<ShownReading>): Promise<ShownReading> {
    const known = this.#reads.find((one) => one.yaml === yaml && sameFiles(one.files, files));
    const entry = known ?? { yaml, files: { ...files }, characters: charactersOf(yaml, files), reading: read() };
    this.#keep(entry);
    // The callers of this read get the failure. The next call reads again.
    if (known === undefined) entry.reading.catch(() => this.#drop(entry));
    return entry.reading;
  }

  #keep(entry: Read): void {
    this.#drop(entry);
    const reads = [...this.#reads, entry];
    let characters = reads.reduce((sum, one) => sum + one.characters, 0);
    while (reads.length > this.#maxReads || characters > this.#maxCharacters) {
      const oldest = reads.shift();
      if (oldest === undefined) break;
      characters -= oldest.characters;
    }
    this.#reads = reads;
  }

  #drop(entry: Read): void {
    this.#reads = this.#reads.filter((one) => one !== entry);
  }
}

function sameFiles(some: Files, others: Files): boolean {
  const names = Object.keys(some);
  return names.length === Object.keys(others).length && names.every((name) => Object.hasOwn(others, name) && some[name] === others[name]);
}

function charactersOf(yaml: string, files: Files): number {
  return Object.entries(files).reduce((sum, [name, text]) => sum + name.length + text.length, yaml.length);
}
