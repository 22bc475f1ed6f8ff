import { spawn } from "node:child_process";
import { once } from "node:events";
import { ArchiveError } from "../../../files/tar/archive-error.ts";
import type { Bytes } from "./archive/decompress.ts";

/** An image in the store of a container engine on this machine. */
export interface StoredImage {
  /** The program that writes the image as an archive. */
  readonly program: "docker" | "podman";
  readonly name: string;
}

/** As skopeo spells them. */
const stores: Readonly<Record<string, StoredImage["program"]>> = { "docker-daemon": "docker", "containers-storage": "podman" };

/** Returns the image that "docker-daemon:NAME" or "containers-storage:NAME" names; undefined for a path. Throws ArchiveError bad_name. */
export function localStore(text: string): StoredImage | undefined {
  const [, store = "", name = ""] = /^([a-z-]+):(.*)$/s.exec(text) ?? [];
  const program = stores[store];
  if (program === undefined) return undefined;
  // A name that begins with a hyphen would be a flag of the program.
  if (!/^[A-Za-z0-9][A-Za-z0-9._/:@+-]*$/.test(name)) {
    throw new ArchiveError(
      "bad_name",
      `${JSON.stringify(name)} is not an image of ${program}`,
      `${store}:NAME, as ${program} images shows it`,
    );
  }
  return { program, name };
}

/** Returns the archive of an image, as its program writes it. Throws ArchiveError not_found if it has no such image, or if there is no such program. */
export async function* savedImage({ program, name }: StoredImage, signal?: AbortSignal): Bytes {
  const child = spawn(program, ["save", name], { stdio: ["ignore", "pipe", "pipe"], ...(signal !== undefined && { signal }) });
  let problem = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    problem = (problem + text).slice(-2000);
  });
  const ended = once(child, "close") as Promise<[number | null]>;
  // Awaited at the end. An earlier failure of the reader must not leave it unhandled.
  ended.catch(() => undefined);
  try {
    yield* child.stdout as Bytes;
    const [code] = await ended;
    if (code !== 0) {
      const reason = problem.trim().split("\n").at(-1) ?? "";
      throw new ArchiveError(
        "not_found",
        `${program} save ${name} failed: ${reason || `code ${code}`}`,
        `${program} images lists its images`,
      );
    }
  } catch (error) {
    signal?.throwIfAborted();
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    throw new ArchiveError(
      "not_found",
      `there is no program ${program} on this machine`,
      "save the image to a file where it is, and add the file",
    );
  } finally {
    child.kill();
  }
}
