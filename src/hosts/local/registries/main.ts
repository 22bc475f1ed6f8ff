import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { hubName, isRegistry } from "../../../engine/model/image-reference.ts";
import { ArchiveError } from "../../../files/tar/archive-error.ts";
import { askSecret, readSecret } from "../machine/ask-secret.ts";
import { commandLine, UsageError, unexpectedText } from "../machine/command-line.ts";
import { localPaths } from "../machine/paths.ts";
import { type Credential, putCredential, readCredentials } from "./credentials.ts";
import { endpointsOf } from "./endpoints.ts";
import { type Endpoint, RegistryClient } from "./registry-client.ts";
import { changeSettings, type RegistryRule, type RegistrySettings, readSettings, SettingsError } from "./settings.ts";

const help = `Usage: labwright registry list [--format json]
       labwright registry add HOST [--users WHO] [--ca FILE] [--plain-http] [--mirror URL ...] [--default]
       labwright registry default HOST
       labwright registry remove HOST
       labwright registry login HOST --username NAME [--password-stdin]
       labwright registry logout HOST

Manages the registries from which labs of this machine's embedded host pull container images. HOST is registry.example or registry.example:5000;
docker.io is Docker Hub. Users may name only these registries in their labs; admins may name any. Needs write permission for the service's state
directory; a running service uses a change at once. registries.yaml there has the same settings, and limits. Passwords are in a file that
only the service reads. add again with other flags changes a registry; flags that are not given stay as they are.

  --users WHO        all (default), admins, or names separated by commas: whose labs may use its images
  --ca FILE          certificates (PEM) to trust besides the system's
  --plain-http       no TLS: images and the password cross the network unencrypted. --no-plain-http ends that
  --mirror URL       a server to ask first; may be repeated. --mirror none removes all
  --default          the registry of names without one, such as frrouting/frr:10.2
  --username NAME    the name to sign in with, for the labs of all users who may use the registry
  --password-stdin   read the password or access token from standard input; default: a question
  --format FORMAT    table or json
  --help`;

const flags = {
  users: { type: "string" },
  ca: { type: "string" },
  "plain-http": { type: "boolean" },
  "no-plain-http": { type: "boolean" },
  mirror: { type: "string", multiple: true },
  default: { type: "boolean" },
  username: { type: "string" },
  "password-stdin": { type: "boolean" },
} as const;

type Values = ReturnType<typeof commandLine<typeof flags>>["values"];

async function main(): Promise<void> {
  const { values, positionals, json } = commandLine(flags);
  const [action, operand, ...rest] = positionals;
  if (values.help === true || action === undefined) return console.log(help);
  const { state } = localPaths(process.env, process.getuid?.() ?? 0);
  const most = action === "list" ? operand : rest[0];
  if (most !== undefined) throw new UsageError(`"${most}" is one argument too many`);
  const report = (host: string, text: string) => console.log(json ? JSON.stringify({ host, result: text }) : `${host}: ${text}`);
  switch (action) {
    case "list":
      return list(state, json);
    case "add": {
      const host = hostOf(operand);
      return report(host, await add(state, host, values));
    }
    case "default": {
      const host = hostOf(operand);
      await known(state, host);
      await changeSettings(state, (document) => document.set("default", host));
      return report(host, "names without a registry are pulled from it");
    }
    case "remove": {
      const host = hostOf(operand);
      await known(state, host);
      await changeSettings(state, (document) => {
        document.deleteIn(["registries", host]);
        if (document.get("default") === host) document.delete("default");
      });
      await putCredential(state, host, undefined);
      return report(host, "removed, with its password; pulled images stay until labwright image prune");
    }
    case "login": {
      const host = hostOf(operand);
      return report(host, await login(state, host, values));
    }
    case "logout": {
      const host = hostOf(operand);
      const had = await putCredential(state, host, undefined);
      if (!had) throw new UsageError(`there is no password for ${host}: labwright registry list shows them`);
      return report(host, "its password is removed");
    }
    default:
      throw new UsageError(`registry has no action "${action}": the actions are list, add, default, remove, login and logout`);
  }
}

function hostOf(operand: string | undefined): string {
  if (operand === undefined) throw new UsageError("the name of a registry is missing, such as registry.example:5000");
  const host = hubName(operand.toLowerCase());
  if (!isRegistry(host))
    throw new UsageError(`"${operand}" is not the name of a registry: HOST or HOST:PORT, without https:// and without a path`);
  return host;
}

async function known(state: string, host: string): Promise<RegistrySettings> {
  const settings = await readSettings(state);
  const mirrors = [...settings.registries.values()].flatMap((rule) => rule.mirrors.map((mirror) => new URL(mirror).host));
  if (settings.registries.has(host) || mirrors.includes(host)) return settings;
  throw new UsageError(`${host} is not configured: labwright registry add ${host} adds it, with --users for whom`);
}

async function list(state: string, json: boolean): Promise<void> {
  const { defaultRegistry, registries } = await readSettings(state);
  const credentials = await readCredentials(state);
  const rows = [...registries].map(([host, rule]) => ({
    host,
    ...rule,
    default: host === defaultRegistry,
    username: credentials.get(host)?.user ?? null,
  }));
  if (json) return console.log(JSON.stringify(rows, null, 2));
  if (rows.length === 0) return console.log("no registries: labwright registry add HOST");
  const table = rows.map((row) => [row.host + (row.default ? " (default)" : ""), usersText(row.users), row.username ?? "-", notesOf(row)]);
  const all = [["HOST", "USERS", "SIGNED IN AS", "NOTES"], ...table];
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((row) => row[column]!.length)));
  for (const row of all)
    console.log(
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join("  ")
        .trimEnd(),
    );
}

function usersText(users: RegistryRule["users"]): string {
  return typeof users === "string" ? users : users.join(",");
}

function notesOf({ ca, plainHttp, mirrors }: RegistryRule): string {
  return [...(plainHttp ? ["no TLS"] : []), ...(ca === undefined ? [] : [`CA ${ca}`]), ...mirrors.map((mirror) => `mirror ${mirror}`)].join(
    ", ",
  );
}

async function add(state: string, host: string, values: Values): Promise<string> {
  const before = (await readSettings(state)).registries.get(host);
  const change: Record<string, unknown> = {};
  if (values.users !== undefined)
    change["users"] = ["all", "admins"].includes(values.users) ? values.users : values.users.split(",").filter((name) => name !== "");
  if (values.ca !== undefined) change["ca"] = await certificates(values.ca);
  if (values["plain-http"] === true) change["plain-http"] = true;
  if (values["no-plain-http"] === true) change["plain-http"] = undefined;
  if (values.mirror !== undefined) change["mirrors"] = values.mirror[0] === "none" ? undefined : values.mirror;
  await changeSettings(state, (document) => {
    if (before === undefined) document.setIn(["registries", host], document.createNode({}));
    for (const [key, value] of Object.entries(change)) {
      if (value === undefined) document.deleteIn(["registries", host, key]);
      else document.setIn(["registries", host, key], document.createNode(value));
    }
    if (values.default === true) document.set("default", host);
  });
  const { users } = (await readSettings(state)).registries.get(host)!;
  return `${before === undefined ? "added" : "changed"}; its images are open to ${users === "all" ? "all users" : `${usersText(users)}${users === "admins" ? "" : " and admins"}`}`;
}

/** Returns the absolute path of a file with certificates. */
async function certificates(file: string): Promise<string> {
  const path = resolve(file);
  try {
    void new X509Certificate(await readFile(path));
  } catch (error) {
    throw new UsageError(`${file} has no certificate in PEM: ${(error as Error).message}`);
  }
  return path;
}

async function login(state: string, host: string, values: Values): Promise<string> {
  const settings = await known(state, host);
  const user = values.username;
  if (user === undefined || user === "" || user.includes(":")) throw new UsageError("login needs --username NAME; a name has no colon");
  const password = values["password-stdin"] === true ? await readSecret() : await askSecret(`Password of ${user} for ${host}`);
  if (password === undefined || password === "") throw new UsageError("no password: pipe it in with --password-stdin");
  const credential: Credential = { user, password };
  const endpoint = await endpointOf(state, settings, host);
  const client = new RegistryClient({ ...endpoint, credential }, "", { signal: AbortSignal.timeout(30_000), silenceMs: 20_000 });
  if (!(await client.ping())) throw new ArchiveError("unauthorized", `${host} does not accept this name and password: nothing was changed`);
  await putCredential(state, host, credential);
  return `signed in as ${user}`;
}

async function endpointOf(state: string, settings: RegistrySettings, host: string): Promise<Endpoint> {
  for (const registry of settings.registries.keys()) {
    const found = (await endpointsOf(state, settings, registry)).find((endpoint) => endpoint.host === host);
    if (found !== undefined) return found;
  }
  throw new UsageError(`${host} is not configured`);
}

try {
  await main();
} catch (error) {
  process.exitCode = 1;
  if (error instanceof ArchiveError) {
    console.error(`error: ${error.message} (${error.code})`);
    if (error.hint !== undefined) console.error(`  hint: ${error.hint}`);
  } else if (error instanceof UsageError) console.error(`error: registry: ${error.message}\n  hint: labwright registry --help`);
  else if (error instanceof SettingsError) console.error(`error: ${error.message}`);
  else console.error(unexpectedText(error));
}
