import { readFile } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { type Document, isMap, parseDocument } from "yaml";
import { isRegistry } from "../../../engine/model/image-reference.ts";
import { ifThere } from "../../../files/if-there.ts";
import { writeFileAtomic } from "../../../files/write-file-atomic.ts";

/** The registries that the administrator has configured: registries.yaml in the state directory. It holds no secrets. */
export interface RegistrySettings {
  /** For names of images without a registry. */
  readonly defaultRegistry?: string;
  readonly registries: ReadonlyMap<string, RegistryRule>;
  readonly limits: PullLimits;
}

export interface RegistryRule {
  /** The users who may use its images. Admins always may. */
  readonly users: "all" | "admins" | readonly string[];
  /** Path of a file with PEM certificates that are trusted besides the system's. */
  readonly ca?: string;
  /** Everything, including the password, crosses the network unencrypted. */
  readonly plainHttp: boolean;
  /** URLs that are asked first, in this order. */
  readonly mirrors: readonly string[];
}

/** The limits of pulls that labs cause. */
export interface PullLimits {
  /** Maximum bytes of an image, packed and unpacked. */
  readonly imageBytes: number;
  /** Maximum unpacked bytes of all images that one user was the first to pull. */
  readonly userBytes: number;
  readonly layers: number;
  /** Maximum time of one pull. */
  readonly minutes: number;
}

export const usualLimits: PullLimits = { imageBytes: 16e9, userBytes: 64e9, layers: 127, minutes: 60 };

export const usualRule: RegistryRule = { users: "all", plainHttp: false, mirrors: [] };

const noSettings: RegistrySettings = { registries: new Map(), limits: usualLimits };

/** A wrong entry of registries.yaml. The message names the place. */
export class SettingsError extends Error {}

export function settingsPath(state: string): string {
  return join(state, "registries.yaml");
}

/** Returns no registries if the file does not exist. Throws SettingsError. */
export async function readSettings(state: string): Promise<RegistrySettings> {
  const text = await textOf(settingsPath(state));
  return text === undefined ? noSettings : parseSettings(text);
}

/** Throws SettingsError. */
export function parseSettings(text: string): RegistrySettings {
  const top = fields(documentOf(text).toJS({ maxAliasCount: 10 }) ?? {}, "registries.yaml", ["default", "registries", "limits"]);
  const registries = new Map<string, RegistryRule>();
  for (const [host, value] of Object.entries(fields(top["registries"] ?? {}, "registries"))) {
    if (!isRegistry(host)) throw wrong(`registries.${host}`, "is not the name of a registry, such as registry.example:5000");
    registries.set(host, ruleOf(value ?? {}, `registries.${host}`));
  }
  const standard = top["default"];
  if (standard !== undefined && (typeof standard !== "string" || !registries.has(standard)))
    throw wrong("default", "is not one of the registries");
  return { ...(standard !== undefined && { defaultRegistry: standard }), registries, limits: limitsOf(top["limits"] ?? {}) };
}

function ruleOf(value: unknown, place: string): RegistryRule {
  const rule = fields(value, place, ["users", "ca", "plain-http", "mirrors"]);
  const { users = "all", ca, "plain-http": plainHttp = false, mirrors = [] } = rule;
  const areUsers = users === "all" || users === "admins" || (Array.isArray(users) && users.every((one) => typeof one === "string"));
  if (!areUsers) throw wrong(`${place}.users`, "must be all, admins, or a list of users");
  if (ca !== undefined && (typeof ca !== "string" || !isAbsolute(ca))) throw wrong(`${place}.ca`, "is not the absolute path of a file");
  if (typeof plainHttp !== "boolean") throw wrong(`${place}.plain-http`, "must be true or false");
  if (!Array.isArray(mirrors)) throw wrong(`${place}.mirrors`, "is not a list of URLs");
  for (const mirror of mirrors) {
    const problem = mirrorProblem(mirror);
    if (problem !== undefined) throw wrong(`${place}.mirrors`, problem);
  }
  return { users: users as RegistryRule["users"], plainHttp, mirrors: mirrors as string[], ...(ca !== undefined && { ca: ca as string }) };
}

/** Returns why a mirror cannot be used. */
export function mirrorProblem(mirror: unknown): string | undefined {
  if (typeof mirror !== "string" || !URL.canParse(mirror)) return `${JSON.stringify(mirror)} is not a URL`;
  const url = new URL(mirror);
  if (url.protocol !== "https:" && url.protocol !== "http:") return `${url.protocol}// is neither https:// nor http://`;
  if (url.username !== "" || url.password !== "")
    return "a URL with a password is refused: labwright registry login HOST keeps the password";
  if (url.search !== "" || url.hash !== "") return "a URL of a mirror has no query";
  return undefined;
}

function limitsOf(value: unknown): PullLimits {
  const names = { "image-bytes": "imageBytes", "user-bytes": "userBytes", layers: "layers", minutes: "minutes" } as const;
  const given = fields(value, "limits", Object.keys(names));
  const limits: Record<string, number> = { ...usualLimits };
  for (const [key, name] of Object.entries(names)) {
    const number = given[key];
    if (number === undefined) continue;
    if (typeof number !== "number" || !Number.isSafeInteger(number) || number <= 0)
      throw wrong(`limits.${key}`, "is not a positive whole number");
    limits[name] = number;
  }
  return limits as unknown as PullLimits;
}

/** Changes registries.yaml, and keeps its comments. Returns the settings afterwards. Throws SettingsError before anything is written. */
export async function changeSettings(state: string, change: (document: Document) => void): Promise<RegistrySettings> {
  const document = documentOf((await textOf(settingsPath(state))) ?? "");
  if (document.contents === null) document.contents = document.createNode({}) as never;
  if (!isMap(document.contents)) throw wrong("registries.yaml", "is not a map");
  change(document);
  const text = document.toString();
  const settings = parseSettings(text);
  await writeFileAtomic(settingsPath(state), text, 0o644);
  return settings;
}

function documentOf(text: string): Document {
  const document = parseDocument(text, { uniqueKeys: true, stringKeys: true });
  const [problem] = document.errors;
  if (problem !== undefined) throw new SettingsError(`registries.yaml: ${problem.message.split("\n")[0]}`);
  return document;
}

function fields(value: unknown, place: string, known?: readonly string[]): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong(place, "is not a map");
  const unknown = known && Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined) throw wrong(place, `has a key ${unknown}; it may have ${known?.join(", ")}`);
  return value as Readonly<Record<string, unknown>>;
}

function wrong(place: string, problem: string): SettingsError {
  return new SettingsError(place === "registries.yaml" ? `${place} ${problem}` : `registries.yaml: ${place} ${problem}`);
}

async function textOf(path: string): Promise<string | undefined> {
  return ifThere(readFile(path, "utf8"));
}
