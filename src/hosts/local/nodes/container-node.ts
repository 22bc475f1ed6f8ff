import type { DefinedNode } from "../definitions/definition.ts";
import { treeReader } from "../files/node-disk.ts";
import type { ContainerConfig } from "../images/images.ts";
import type { NodeSpawn } from "../sandbox/sandbox.ts";
import { declaredFiles, ownerCommands } from "../templates/declared-files.ts";
import { findUser } from "./user-database.ts";
import { words } from "./words.ts";

/** The part of a node's spawn request that its container image determines. */
export type ContainerSpawn = Pick<NodeSpawn, "files" | "env" | "boot" | "console" | "main">;

const execScript = "/etc/labwright/exec";

/**
 * Returns the process of a container: entrypoint and command of the image, or of the attributes. As in docker, a node's `entrypoint` also removes the
 * image's command. `exec` runs before it, with the image's own /bin/sh.
 * @param trees the node's root, top first: its disk and the image's layers
 * @throws Error with a message for users
 */
export function containerSpawn(node: DefinedNode, config: ContainerConfig, trees: readonly string[]): ContainerSpawn {
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
  const entrypoint = list("entrypoint");
  const command = list("command") ?? (entrypoint === undefined ? config.command : []);
  const argv = [...(entrypoint ?? config.entrypoint), ...command];
  if (argv.length === 0) throw new Error("its image has no command; the attribute command gives one");
  const workdir = given("workdir") ?? config.workdir;
  if (!workdir.startsWith("/")) throw new Error("workdir is not absolute");
  const read = treeReader(trees);
  const user = findUser(given("user") ?? config.user, read("/etc/passwd") ?? "", read("/etc/group") ?? "");
  const commands = [...ownerCommands(node.files), ...node.exec];
  const script = commands.length === 0 ? [] : [{ path: execScript, mode: 0o600, text: scriptOf(commands) }];
  return {
    files: [...script, ...declaredFiles(node.files)],
    env: {
      HOME: user.home,
      ...config.env,
      // Read by the node's init (native/holder/node-init.c).
      ...(config.stopSignal === undefined ? {} : { LABWRIGHT_STOP_SIGNAL: String(config.stopSignal) }),
      ...node.env,
      LABWRIGHT_NODE: node.name,
    },
    boot: commands.length === 0 ? [] : ["/bin/sh", execScript],
    console: argv,
    main: { workdir, uid: user.uid, gids: user.gids },
  };
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
