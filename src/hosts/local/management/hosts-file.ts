import { Resolver } from "node:dns/promises";
import { chmod, chown, type FileHandle, open, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { SerialQueue } from "../../../base/keyed-queue.ts";
import { hostsWith, isHostName, type NamedAddress, namesBesides } from "./hosts-text.ts";
import { isReservedName } from "./reserved-names.ts";

/** A larger file is left alone: reading it at each change of a lab would take long. */
const maxBytes = 4 * 1024 * 1024;
/** Tries to write a file that other programs change at the same moment. */
const maxTries = 5;

/** Returns whether the domain exists in the DNS of the machine. Answers false if the DNS does not answer. */
export type DomainCheck = (domain: string) => Promise<boolean>;

/**
 * The names of nodes in the machine's hosts file: a marked block for each lab of this service. All other lines are left as they are. A file that cannot be
 * written never stops a lab: it is a warning.
 */
export class HostsFile {
  readonly #file: string;
  readonly #service: string;
  readonly #warn: (text: string) => void;
  readonly #exists: DomainCheck;
  readonly #changes = new SerialQueue();
  /** Labs that may have a block → what it was made of; "" if an earlier run of the service made it. */
  readonly #known = new Map<string, string>();
  #warned = "";

  /** @param service marks the blocks of this service: its state directory */
  constructor(file: string, service: string, warn: (text: string) => void, exists: DomainCheck = domainExists) {
    this.#file = file;
    this.#service = service;
    this.#warn = warn;
    this.#exists = exists;
  }

  /** Makes the block of the lab contain these names, as far as they hide no others. Names that are left out are a warning. */
  async set(lab: string, named: readonly NamedAddress[]): Promise<void> {
    const wanted = JSON.stringify(named);
    if (this.#known.get(lab) === wanted) return;
    const domains = new Set(named.map(({ name }) => name.slice(name.lastIndexOf(".") + 1)));
    const real = new Set<string>();
    for (const domain of domains) if (isReservedName(domain) || (await this.#exists(domain))) real.add(domain);
    const usable = named.filter(({ name }) => isHostName(name) && !real.has(name.slice(name.lastIndexOf(".") + 1)) && !isOwnName(name));
    const done = await this.#write((text) => {
      const others = namesBesides(text, this.#mark(lab));
      const free = usable.filter(({ name }) => !others.has(name.toLowerCase()));
      return { text: hostsWith(text, this.#mark(lab), free), left: named.length - free.length };
    });
    if (done === undefined) return;
    this.#known.set(lab, wanted);
    if (done.left === 0) return;
    const names = [...new Set(named.map(({ name }) => name))].slice(0, 3).join(", ");
    const why = real.size > 0 ? `${[...real].join(", ")} is a domain that exists` : "the file or the machine has these names already";
    this.#warn(
      `lab ${lab}: ${done.left} names of nodes (${names} …) are not in ${this.#file}: ${why}; another name of the lab changes that`,
    );
  }

  async remove(lab: string): Promise<void> {
    if (this.#known.delete(lab)) await this.#write((text) => ({ text: hostsWith(text, this.#mark(lab), []), left: 0 }));
  }

  /** Must be called first. Removes the blocks of this service's labs except these. A service that was killed may have left some. */
  async keep(labs: readonly string[]): Promise<void> {
    const kept = new Set(labs.map((lab) => this.#mark(lab)));
    for (const lab of labs) this.#known.set(lab, "");
    await this.#write((text) => {
      const marks = [...text.matchAll(/^# labwright (\S+ .*): begin$/gm)].flatMap(([, mark = ""]) =>
        mark.endsWith(` ${this.#service}`) ? [mark] : [],
      );
      const gone = marks.filter((mark) => !kept.has(mark));
      return { text: gone.reduce((rest, mark) => hostsWith(rest, mark, []), text), left: 0 };
    });
  }

  #mark(lab: string): string {
    return `${lab} ${this.#service}`;
  }

  /** Returns what the edit returned; undefined if the file could not be written. */
  #write<T extends { readonly text: string }>(edit: (text: string) => T): Promise<T | undefined> {
    return this.#changes.run(async () => {
      try {
        const done = await editFile(this.#file, edit);
        this.#warned = "";
        return done;
      } catch (error) {
        const { message } = error as Error;
        if (message !== this.#warned)
          this.#warn(`the names of nodes are not in ${this.#file}: ${message}; labwright serve --hosts-file none leaves the file alone`);
        this.#warned = message;
        return undefined;
      }
    });
  }
}

/** Returns whether the machine itself has this name. */
function isOwnName(name: string): boolean {
  const own = hostname().toLowerCase();
  const lower = name.toLowerCase();
  return lower === own || lower.startsWith(`${own}.`) || own.startsWith(`${lower}.`);
}

async function editFile<T extends { readonly text: string }>(given: string, edit: (text: string) => T): Promise<T> {
  // A link stays a link.
  const file = await realpath(given).catch((error: NodeJS.ErrnoException) => (error.code === "ENOENT" ? given : Promise.reject(error)));
  for (let tries = 1; ; tries++) {
    const before = await read(file);
    const done = edit(before ?? "");
    if (done.text === (before ?? "")) return done;
    if (await replace(file, before, done.text)) return done;
    if (tries === maxTries) throw new Error("other programs change it all the time");
  }
}

/** Returns the text, each byte a character, so that unknown encodings stay; undefined if there is no file. */
async function read(file: string): Promise<string | undefined> {
  try {
    const { size } = await stat(file);
    if (size > maxBytes) throw new Error(`it has more than ${maxBytes} bytes`);
    return await readFile(file, "latin1");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Replaces the file, which keeps its owner and mode. Returns false if it has changed meanwhile. */
async function replace(file: string, before: string | undefined, text: string): Promise<boolean> {
  const draft = `${file}.labwright-${process.pid}`;
  try {
    const there = before === undefined ? undefined : await stat(file);
    await rm(draft, { force: true });
    await withFile(draft, "wx", (handle) => write(handle, text));
    await chmod(draft, (there?.mode ?? 0o644) & 0o7777);
    if (there !== undefined) await chown(draft, there.uid, there.gid);
    if ((await read(file)) !== before) return false;
    await rename(draft, file);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    // In a container the file is a mount of its own, and in a sandboxed service its directory may be read-only.
    if (!["EBUSY", "EROFS", "EXDEV", "EACCES", "EPERM"].includes(code)) throw error;
    if ((await read(file)) !== before) return false;
    await withFile(file, "r+", (handle) => write(handle, text));
    return true;
  } finally {
    await rm(draft, { force: true }).catch(() => undefined);
  }
  await withFile(dirname(file), "r", (handle) => handle.sync());
  return true;
}

/** Writes in one piece, and cuts off the rest afterwards, so that readers of a file that is not replaced never find it empty. */
async function write(handle: FileHandle, text: string): Promise<void> {
  const bytes = Buffer.from(text, "latin1");
  await handle.write(bytes, 0, bytes.length, 0);
  await handle.truncate(bytes.length);
  await handle.sync();
}

async function withFile(file: string, flags: string, work: (handle: FileHandle) => Promise<void>): Promise<void> {
  const handle = await open(file, flags, 0o644);
  try {
    await work(handle);
  } finally {
    await handle.close();
  }
}

const answers = new Map<string, { readonly exists: Promise<boolean>; readonly at: number }>();
const answerMs = 600_000;

/** Asks for the name servers of the domain: every delegated top-level domain has some. */
function domainExists(domain: string): Promise<boolean> {
  const known = answers.get(domain);
  if (known !== undefined && performance.now() - known.at < answerMs) return known.exists;
  const exists = new Resolver({ timeout: 500, tries: 1 }).resolveNs(domain).then(
    (servers) => servers.length > 0,
    () => false,
  );
  answers.set(domain, { exists, at: performance.now() });
  return exists;
}
