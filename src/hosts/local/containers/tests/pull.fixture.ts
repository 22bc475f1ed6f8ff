import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach } from "vitest";
import { ArchiveError } from "../../../../files/tar/archive-error.ts";
import { tarArchive } from "../../../../files/tar/tar-writer.ts";
import { putCredential } from "../../registries/credentials.ts";
import { type RegistryRule, type RegistrySettings, usualLimits, usualRule } from "../../registries/settings.ts";
import { machinePlatform } from "../platform.ts";
import { type PullOptions, pullImage } from "../pull-image.ts";
import { configOf, file } from "./archive.fixture.ts";
import type { PushedImage } from "./registry.fixture.ts";

/** An image of layers with one file each. */
export function imageOf(...layers: readonly (readonly [name: string, text: string])[]): PushedImage {
  const plain = layers.map(([name, text]) => tarArchive([file(name, text)]));
  return { layers: plain.map((layer) => gzipSync(layer)), config: configOf(plain) };
}

/** A state directory with an image directory for each test of a file, and the function that pulls into it. */
export class PullTest {
  state = "";
  images = "";
  settings: RegistrySettings = { registries: new Map(), limits: usualLimits };
  /** The reports of the last pull. */
  texts: string[] = [];

  readonly use = (host: string, rule: Partial<RegistryRule> = {}, limits: Partial<RegistrySettings["limits"]> = {}): void => {
    const registries = new Map([...this.settings.registries, [host, { ...usualRule, ...rule }] as const]);
    this.settings = { ...this.settings, registries, limits: { ...this.settings.limits, ...limits } };
  };

  readonly login = (host: string, user: string, password: string) => putCredential(this.state, host, { user, password });

  readonly pull = (reference: string, more: Partial<PullOptions> = {}) => {
    this.texts = [];
    return pullImage({
      reference,
      directory: this.images,
      state: this.state,
      settings: this.settings,
      always: false,
      platform: machinePlatform(),
      now: () => new Date("2026-01-01T00:00:00Z"),
      say: (text) => this.texts.push(text),
      signal: new AbortController().signal,
      retryMs: 1,
      reserve: 0,
      ...more,
    });
  };

  /** The downloads in the image directory, without their locks. */
  readonly downloads = (): readonly string[] => {
    try {
      return readdirSync(join(this.images, ".pull")).filter((name) => !name.endsWith(".lock"));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
  };

  readonly leftWork = (): readonly string[] => readdirSync(this.images).filter((name) => name.startsWith(".add-"));
}

export function pullTest(): PullTest {
  const made = new PullTest();
  beforeEach(() => {
    made.state = mkdtempSync(join(tmpdir(), "labwright-pull-"));
    made.images = join(made.state, "images");
    mkdirSync(made.images);
    made.settings = { registries: new Map(), limits: usualLimits };
  });
  afterEach(() => rmSync(made.state, { recursive: true, force: true }));
  return made;
}

/** Returns the error of a pull that fails. Throws if it succeeds. */
export const failure = (promise: Promise<unknown>): Promise<ArchiveError> =>
  promise.then(
    () => Promise.reject(new Error("it was pulled")),
    (error) => (error instanceof ArchiveError ? error : Promise.reject(error)),
  );
