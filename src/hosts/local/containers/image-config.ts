import { constants } from "node:os";
import { ArchiveError } from "../../../files/tar/archive-error.ts";
import type { ContainerConfig } from "../images/images.ts";

/** The image configuration of OCI and docker, checked. */
export interface ImageConfig {
  readonly container: ContainerConfig;
  /** "linux/amd64", with the variant if there is one: "linux/arm64/v8". */
  readonly platform: string;
  /** SHA-256 (hex) of each layer as plain tar, the lowest first. */
  readonly diffIds: readonly string[];
  readonly created?: string;
}

export const shellConfig: ContainerConfig = { entrypoint: [], command: ["/bin/sh"], env: {}, workdir: "/", user: "" };

/** @throws ArchiveError bad_archive that names the field */
export function parseConfig(value: unknown): ImageConfig {
  const top = record(value, "the image configuration");
  const rootfs = record(top["rootfs"], "rootfs");
  if (rootfs["type"] !== "layers") throw wrong("rootfs.type", 'is not "layers"');
  const diffIds = texts(rootfs["diff_ids"], "rootfs.diff_ids").map((id) => sha256Of(id, "rootfs.diff_ids"));
  const config = record(top["config"] ?? {}, "config");
  const variant = optional(top["variant"], "variant");
  const created = optional(top["created"], "created");
  const stopSignal = signalOf(optional(config["StopSignal"], "config.StopSignal"));
  const workdir = optional(config["WorkingDir"], "config.WorkingDir") || "/";
  if (!workdir.startsWith("/")) throw wrong("config.WorkingDir", "is not absolute");
  return {
    container: {
      entrypoint: texts(config["Entrypoint"] ?? [], "config.Entrypoint"),
      command: texts(config["Cmd"] ?? [], "config.Cmd"),
      env: envOf(texts(config["Env"] ?? [], "config.Env")),
      workdir,
      user: optional(config["User"], "config.User") ?? "",
      ...(stopSignal === undefined ? {} : { stopSignal }),
    },
    platform: [optional(top["os"], "os") ?? "linux", optional(top["architecture"], "architecture") ?? "", variant ?? ""]
      .filter((part, i) => part !== "" || i === 1)
      .join("/"),
    diffIds,
    ...(created === undefined ? {} : { created }),
  };
}

/** Returns the hex digits of "sha256:…". Other digest algorithms are not supported. */
export function sha256Of(digest: unknown, place: string): string {
  const hex = typeof digest === "string" ? /^sha256:([0-9a-f]{64})$/.exec(digest)?.[1] : undefined;
  if (hex === undefined) throw wrong(place, "has a digest that is not sha256");
  return hex;
}

export function record(value: unknown, place: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong(place, "is not an object");
  return value as Readonly<Record<string, unknown>>;
}

export function texts(value: unknown, place: string): readonly string[] {
  if (!Array.isArray(value)) throw wrong(place, "is not a list");
  for (const one of value) if (typeof one !== "string" || one.includes("\0")) throw wrong(place, "must contain only strings");
  return value as readonly string[];
}

function optional(value: unknown, place: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string" || value.includes("\0")) throw wrong(place, "is not a string");
  return value;
}

/** Parses a signal as docker does: SIGQUIT, QUIT, 3, SIGRTMIN+3. Returns `undefined` for anything else. */
function signalOf(text: string | undefined): number | undefined {
  if (text === undefined || text === "") return undefined;
  const name = text.toUpperCase().replace(/^SIG/, "");
  const [, edge, sign, distance] = /^RT(MIN|MAX)(?:([+-])(\d{1,2}))?$/.exec(name) ?? [];
  const number =
    edge !== undefined
      ? (edge === "MIN" ? 34 : 64) + Number(`${sign ?? "+"}${distance ?? 0}`)
      : /^\d{1,2}$/.test(name)
        ? Number(name)
        : (constants.signals[`SIG${name}` as NodeJS.Signals] ?? 0);
  if (number < 1 || number > 64) throw wrong("config.StopSignal", `is not a signal: ${JSON.stringify(text)}`);
  return number;
}

function envOf(pairs: readonly string[]): Readonly<Record<string, string>> {
  const entries = pairs.map((pair) => [pair.replace(/=.*/s, ""), pair.includes("=") ? pair.slice(pair.indexOf("=") + 1) : ""] as const);
  return Object.fromEntries(entries.filter(([name]) => name !== ""));
}

export function wrong(place: string, why: string): ArchiveError {
  return new ArchiveError("bad_archive", `the image is malformed: ${place} ${why}`);
}
