import { lstat, stat } from "node:fs/promises";
import { basename, dirname, join, posix, resolve } from "node:path";
import type { RemoteEnd, RemoteProcess } from "../../client/index.ts";
import { makeDirectory } from "../../files/make-directory.ts";
import { ArchiveError } from "../../files/tar/archive-error.ts";
import { pack } from "../../files/tar/pack.ts";
import { unpack } from "../../files/tar/unpack.ts";
import type { Context } from "../command/context.ts";
import { UsageError } from "../command/usage-error.ts";
import { IdleLimit } from "./idle-limit.ts";

export interface CopyRun {
  readonly context: Context;
  /** Keeps numeric owners on this machine or in the node. */
  readonly owners: boolean;
  readonly maxBytes: number;
  /** The copy ends if its node does nothing for this time, ms. */
  readonly idleMs: number;
  /** Called with the bytes that were copied since the last call. */
  readonly onBytes: (count: number) => void;
}

/** Maximum number of files of one copy out of a node. */
const maxEntries = 5_000_000;
/** Maximum characters of a node's messages that an error shows. */
const maxComplaint = 2_000;

/** The output of tar in a node: its archive, its messages and its end. */
class TarOutput {
  #complaint = "";
  end: RemoteEnd | undefined;
  readonly #program: RemoteProcess;
  readonly #idle: IdleLimit | undefined;

  /** @param idle limits the wait for each piece; absent: none */
  constructor(program: RemoteProcess, idle?: IdleLimit) {
    this.#program = program;
    this.#idle = idle;
  }

  /** The memory of each piece is reused when the next one is asked for. */
  async *bytes(): AsyncGenerator<Buffer, void, undefined> {
    const items = this.#program[Symbol.asyncIterator]();
    for (;;) {
      const next = items.next();
      const { value: item, done } = await (this.#idle?.of(next) ?? next);
      if (done === true) return;
      if (item.stream === "end") this.end = item;
      else if (item.stream === "stdout") {
        yield item.data;
        this.#program.reuse(item.data);
      } else if (this.#complaint.length < maxComplaint) this.#complaint += item.data.toString();
    }
  }

  /** Throws if tar did not end with 0. */
  check(what: string): void {
    if (this.end?.exit_code === 0) return;
    throw new UsageError(`${what}: ${this.#reason() ?? `tar was ended${this.signal}`}`);
  }

  /** The signal that ended tar, for messages; empty without one. */
  get signal(): string {
    return this.end?.signal === undefined ? "" : ` by ${this.end.signal}`;
  }

  /** Throws if tar reported why it failed. A tar that was ended because its output is not read has no such reason. */
  checkReported(what: string): void {
    const reason = this.end?.exit_code === 0 ? undefined : this.#reason();
    if (reason !== undefined) throw new UsageError(`${what}: ${reason}`);
  }

  #reason(): string | undefined {
    const code = this.end?.exit_code;
    return this.#complaint.trim() || (code === undefined ? undefined : `tar ended with ${code}`);
  }
}

/** Copies a file or folder of a node to this machine. @param target an existing folder, or the name of the copy */
export async function copyFromNode(run: CopyRun, node: string, path: string, target: string): Promise<void> {
  const { context, owners, maxBytes, idleMs, onBytes } = run;
  const isFolder = await existingFolder(target);
  if (isFolder === undefined && target.endsWith("/"))
    throw new UsageError(`cp: there is no folder ${target}`, `mkdir -p ${target} makes it`);
  const folder = isFolder === true ? target : dirname(resolve(target));
  if ((await existingFolder(folder)) !== true) throw new UsageError(`cp: there is no folder ${folder}`, `mkdir -p ${folder} makes it`);
  const client = await context.client();
  const { selector } = await context.project();
  using program = await client.openCopy({ ...selector, node, path, direction: "from_node" });
  program.endInput();
  using idle = new IdleLimit(idleMs, `${node}:${path}`, () => program[Symbol.dispose]());
  const output = new TarOutput(program, idle);
  const skipped: string[] = [];
  const onSkipped = (name: string) => skipped.push(name);
  const expected = posix.basename(posix.normalize(path));
  const top = isFolder === true ? expected : basename(resolve(target));
  try {
    await unpack(output.bytes(), { folder, expected, top, owners, maxBytes, maxEntries, onSkipped, onBytes });
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    // An archive that is cut off or empty: tar in the node usually reports the reason.
    if (error.code === "bad_archive") output.checkReported(`${node}:${path}`);
    const ended = output.signal === "" ? "" : `; tar was ended${output.signal}`;
    throw new UsageError(
      `${node}:${path}: ${error.message}${ended}`,
      error.code === "too_large" ? "--max-size raises the limit" : undefined,
    );
  }
  output.check(`${node}:${path}`);
  if (skipped.includes(top)) throw new UsageError(`${node}:${path} is not a file or folder, so that it is not copied`);
  if (skipped.length > 0)
    context.terminal.complain(`${node}: left out, no files or folders: ${skipped.slice(0, 5).join(" ")}${skipped.length > 5 ? " …" : ""}`);
}

/** Writes the archive of a node's file or folder to standard output. */
export async function archiveFromNode({ context, idleMs, onBytes }: CopyRun, node: string, path: string): Promise<void> {
  const client = await context.client();
  const { selector } = await context.project();
  using program = await client.openCopy({ ...selector, node, path, direction: "from_node" });
  program.endInput();
  using idle = new IdleLimit(idleMs, `${node}:${path}`, () => program[Symbol.dispose]());
  const output = new TarOutput(program, idle);
  const { stdout } = context.terminal;
  for await (const chunk of output.bytes()) {
    onBytes(chunk.length);
    await new Promise((done) => stdout.write(chunk, done));
  }
  output.check(`${node}:${path}`);
}

/** Copies a file or folder of this machine into a node; "-" is a tar archive on standard input. */
export async function copyToNode({ context, owners, idleMs, onBytes }: CopyRun, source: string, node: string, path: string): Promise<void> {
  const isArchive = source === "-";
  if (!isArchive)
    await lstat(source).catch((error: NodeJS.ErrnoException) =>
      Promise.reject(
        new UsageError(error.code === "ENOENT" ? `cp: there is no file or folder ${source}` : `cp: ${source}: ${error.message}`),
      ),
    );
  const client = await context.client();
  const { selector } = await context.project();
  using program = await client.openCopy({ ...selector, node, path, direction: "to_node" });
  const output = new TarOutput(program);
  using idle = new IdleLimit(idleMs, `${node}:${path}`, () => program[Symbol.dispose]());
  const items = output.bytes();
  const place = await idle.of(firstLine(items));
  if (place === undefined) return output.check(`${node}:${path}`);
  if (place === "parent" && (isArchive || path.endsWith("/"))) throw new UsageError(`cp: ${node} has no folder ${path}`);
  const name = place === "folder" ? basename(resolve(source)) : posix.basename(path);
  const onSkipped = (skipped: string) => context.terminal.complain(`left out, no file or folder: ${skipped}`);
  const archive = isArchive ? (context.terminal.stdin as AsyncIterable<Buffer>) : pack(source, { name, owners, onSkipped });
  // Messages of tar are read meanwhile: a tar that waits for their reader would not read its input.
  const rest = (async () => {
    for await (const _ of items);
  })();
  rest.catch(() => {}); // thrown below
  try {
    for await (const chunk of archive) {
      if (output.end !== undefined) break;
      await idle.of(program.write(chunk));
      onBytes(chunk.length);
    }
  } catch (error) {
    idle.check();
    // tar removes what it has begun.
    program.signal("SIGTERM");
    await idle.of(rest).catch(() => {});
    throw error;
  }
  program.endInput();
  await idle.of(rest);
  output.check(`${node}:${path}`);
}

/** Reads the first line of the output. `undefined` if it ends before. */
async function firstLine(items: AsyncGenerator<Buffer>): Promise<string | undefined> {
  let text = "";
  while (!text.includes("\n")) {
    const { value, done } = await items.next();
    if (done === true) return undefined;
    text += value.toString();
  }
  return text.slice(0, text.indexOf("\n"));
}

/** Returns whether the path is a folder; undefined if nothing is there. */
async function existingFolder(path: string): Promise<boolean | undefined> {
  return await stat(path).then(
    (found) => found.isDirectory(),
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw new UsageError(`cp: ${path}: ${error.message}`);
    },
  );
}

/** Makes and returns the folder of a node below the target of a copy out of several nodes. */
export async function folderOfNode(target: string, node: string): Promise<string> {
  const folder = join(target, node);
  await makeDirectory(folder, 0o777);
  return folder;
}
