import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { ArchiveError } from "../../../../files/tar/archive-error.ts";
import { type TarWrite, tarArchive } from "../../../../files/tar/tar-writer.ts";
import { findImages } from "../../images/images.ts";
import { type AddOptions, addImage } from "../add-image.ts";
import { unpackLimits } from "../archive/budget.ts";
import { machinePlatform } from "../platform.ts";
import type { AddedImage } from "../store/store-image.ts";

export const idBase = process.getuid?.() === 0 ? 1_000_000 : undefined;

/** An image directory for each test of a file, and the functions that add to it. */
export class TestImages {
  /** The directory of one test. */
  top = "";
  /** The image directory in it. */
  images = "";

  readonly add = (data: Buffer | string, more: Partial<AddOptions> = {}): Promise<AddedImage> => {
    const path = typeof data === "string" ? data : join(this.top, "image.tar");
    if (typeof data !== "string") writeFileSync(path, data);
    return addImage({
      file: path,
      directory: this.images,
      platform: machinePlatform(),
      replace: false,
      idBase,
      limits: unpackLimits,
      now: () => new Date("2026-01-01T00:00:00Z"),
      say: () => {},
      ...more,
    });
  };

  /** Adds a root file system of these entries as an image. */
  readonly rootfs = (entries: readonly TarWrite[], more: Partial<AddOptions> = {}) =>
    this.add(tarArchive(entries), { name: "it", ...more });

  /** Returns the trees of the layers, the lowest first. */
  readonly trees = async (name: string) => (await findImages(this.images)).find((image) => image.name === name)!.layers.toReversed();

  /** Returns the names in the image directory, without the lock, which stays. */
  readonly left = () => readdirSync(this.images).filter((name) => name !== ".lock");
}

/** Makes a directory before each test of a file, and removes it afterwards. */
export function testImages(): TestImages {
  const made = new TestImages();
  beforeEach(() => {
    made.top = mkdtempSync(join(tmpdir(), "labwright-archive-"));
    made.images = join(made.top, "images");
    mkdirSync(made.images);
  });
  afterEach(() => {
    rmSync(made.top, { recursive: true, force: true });
  });
  return made;
}

/** Returns the error of an image that is refused. Throws if it was added. */
export const refusal = (promise: Promise<unknown>): Promise<ArchiveError> =>
  promise.then(
    () => Promise.reject(new Error("it was added")),
    (error) => (error instanceof ArchiveError ? error : Promise.reject(error)),
  );
