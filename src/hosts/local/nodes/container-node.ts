import { createHash } from "node:crypto";
import { shellWord } from "../../../base/shell-word.ts";
import type { DefinedNode } from "../definitions/definition.ts";
import { type NodeDisk, treeReader } from "../files/node-disk.ts";
import type { ContainerConfig } from "../images/images.ts";
import type { ImageDirectory } from "../images/run-directories.ts";
import type { NodeSpawn } from "../sandbox/sandbox.ts";
import { containerAttributes } from "../templates/container-template.ts";
import { declaredFiles, ownerCommands } from "../templates/declared-files.ts";
import type { LocalTemplate } from "../templates/template.ts";
import { marker } from "./saved-config.ts";
import { findUser } from "./user-database.ts";
import { words } from "./words.ts";

/** The part of a node's spawn request that its container image and template determine. */
export type ContainerSpawn = Pick<NodeSpawn, "files" | "env" | "boot" | "console" | "main">;

/** The parts of a container. */
interface ContainerParts {
  readonly template: Pick<LocalTemplate, "container" | "console" | "attributes">;
  readonly config: ContainerConfig;
  /** The directories of the image below /run, which is empty at the start. */
  readonly runDirectories: () => readonly ImageDirectory[];
  /** The node's root, top first: its disk and the image's layers. */
  readonly trees: readonly string[];
  readonly disk: Pick<NodeDisk, "read" | "remove">;
}

const execScript = "/etc/labwright/exec";

/** Settings of the node's init (native/holder/node-init.c). Neither an intent nor an image may set them. */
export const initSettings = { console: "LABWRIGHT_CONSOLE", first: "LABWRIGHT_FIRST_PROCESS", stop: "LABWRIGHT_STOP_SIGNAL" } as const;

/**
 * Returns the process of a container: entrypoint and command of the image, of the template, or of the attributes. As in docker, an `entrypoint` also removes the
 * command below it. `exec` runs before it, with the image's own /bin/sh.
 * @throws Error with a message for users
 */
export function containerSpawn(node: DefinedNode, { template, config, trees, disk, runDirectories }: ContainerParts): ContainerSpawn {
  const made = template.container;
  const given = (name: string): string | undefined => {
    const value = node.attributes[name];
    return value === undefined || value === "" ? undefined : String(value);
  };
  const list = (name: string): readonly string[] | undefined => {
    const text = given(name);
    if (text === undefined) return undefined;
    try {
      return words(text);
    } catch (error) {
      throw new Error(`${name} ${(error as Error).message}`, { cause: error });
    }
  };
  const [entrypoint, command] = [list("entrypoint"), list("command")];
  const below = {
    entrypoint: made?.entrypoint ?? config.entrypoint,
    command: made?.command ?? (made?.entrypoint === undefined ? config.command : []),
  };
  const program = [...(entrypoint ?? below.entrypoint), ...(command ?? (entrypoint === undefined ? below.command : []))];
  if (program.length === 0) throw new Error("its image has no command; the attribute command gives one");
  const workdir = given("workdir") ?? made?.workdir ?? config.workdir;
  if (!workdir.startsWith("/")) throw new Error("workdir is not absolute");
  const read = treeReader(trees);
  const user = findUser(given("user") ?? made?.user ?? config.user, read("/etc/passwd") ?? "", read("/etc/group") ?? "");
  // A template for known software can rely on a shell in the image.
  const runFolders = made === undefined ? [] : directoryCommands(runDirectories());
  const commands = [...runFolders, ...(made?.before ?? []), ...ownerCommands(node.files), ...node.exec];
  const script = commands.length === 0 ? [] : [{ path: execScript, mode: 0o600, text: scriptOf(commands) }];
  const { argv } = template.console;
  const settings = {
    ...(config.stopSignal === undefined ? {} : { [initSettings.stop]: String(config.stopSignal) }),
    ...(argv.length === 0 ? {} : { [initSettings.console]: argv.map((word) => `${word}\x1f`).join("") }),
    ...(made?.isFirstProcess === true && { [initSettings.first]: "1" }),
  };
  const { console: ofConsole, first, stop } = initSettings;
  const { [ofConsole]: _console, [first]: _first, [stop]: _stop, ...env } = { ...config.env, ...made?.env, ...node.env };
  return {
    files: [...(made?.files ?? []), ...configFiles(node, template, disk), ...script, ...declaredFiles(node.files)],
    env: { HOME: user.home, ...env, ...attributeEnv(node, template), ...settings, LABWRIGHT_NODE: node.name },
    boot: commands.length === 0 ? [] : ["/bin/sh", execScript],
    console: [...(made?.wrapper ?? []), ...program],
    main: { workdir, uid: user.uid, gids: user.gids },
  };
}

/** Returns a command that makes these directories. */
function directoryCommands(directories: readonly ImageDirectory[]): readonly string[] {
  const each = directories.map(({ path, mode, uid, gid }) => {
    const word = shellWord(path);
    return `mkdir -p ${word} && chmod ${mode.toString(8)} ${word} && chown ${uid}:${gid} ${word}`;
  });
  return each.length === 0 ? [] : [each.join(" && ")];
}

/** Returns LABWRIGHT_<ATTRIBUTE> for the attributes that only this template knows, including defaults. */
function attributeEnv(node: DefinedNode, { attributes }: Pick<LocalTemplate, "attributes">): Readonly<Record<string, string>> {
  const general: readonly string[] = containerAttributes;
  return Object.fromEntries(
    attributes.flatMap(({ name, default: usual }) => {
      const value = node.attributes[name] ?? usual;
      if (general.includes(name) || value === undefined) return [];
      return [[`LABWRIGHT_${name.toUpperCase().replaceAll("-", "_")}`, String(value)] as const];
    }),
  );
}

/**
 * Returns the startup configuration as the file that the node reads, if the node has not taken it over yet: a configuration that it saved later stays. Removes
 * the file from the node's disk if the intent has no startup configuration any more.
 */
function configFiles(
  node: DefinedNode,
  { container }: Pick<LocalTemplate, "container">,
  disk: Pick<NodeDisk, "read" | "remove">,
): NodeSpawn["files"] {
  const config = container?.config;
  if (config === undefined) return [];
  const { startupConfig: text = "" } = node;
  const digest = createHash("sha256").update(text).digest("hex");
  const taken = disk.read(marker)?.toString("latin1").trim();
  if (taken === digest) return [];
  if (text === "" && taken !== undefined) disk.remove(config.path);
  return [...(text === "" ? [] : [{ ...config, text }]), { path: marker, mode: 0o600, text: `${digest}\n` }];
}

/** Runs each command in its own shell. The first failure ends the boot with its exit code, and is reported by name. */
function scriptOf(commands: readonly string[]): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const lines = commands.map((command) => {
    const notice = quoted(`labwright: exec: "${command}" failed with exit code `);
    return `/bin/sh -c ${quoted(command)} < /dev/null || { code=$?; echo ${notice}$code; exit $code; }`;
  });
  return `${lines.join("\n")}\n`;
}
