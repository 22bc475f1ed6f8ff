import { resolve } from "node:path";
import { shellWord } from "../../base/shell-word.ts";
import type { Arguments } from "../command/arguments.ts";
import type { Flag } from "../command/command.ts";

/** The parts of a connection that all nodes of a lab share. */
export interface SshMeans {
  /** The lab's path on the host. */
  readonly lab: string;
  /** The service, if the user named it: otherwise the program finds it. */
  readonly url?: string | undefined;
  readonly pin?: string | undefined;
  /** Absolute path of the private key. Absent: the keys that ssh finds itself. */
  readonly identity?: string | undefined;
  /** The host runs programs in nodes. Without them, only published ports lead to nodes. */
  readonly hasPrograms: boolean;
}

export const identityFlag: Flag = {
  long: "identity",
  short: "i",
  value: "FILE",
  completes: "file",
  summary: "Private SSH key to use; FILE.pub is its public key",
};

export function sshMeans(lab: string, args: Arguments, hasPrograms: boolean): SshMeans {
  const identity = args.text("identity");
  return {
    lab,
    url: args.text("url"),
    pin: args.text("pin"),
    identity: identity === undefined ? undefined : resolve(identity.replace(/\.pub$/, "")),
    hasPrograms,
  };
}

/** Returns the name of a node for ssh, such as r1.campus. */
export function sshName(node: string, lab: string): string {
  const word = (text: string) => text.replaceAll(/[^\w.-]+/g, "-");
  return `${word(node)}.${word(lab)}`;
}

/** Returns whether labwright ssh may reach the node. Names of other hosts may have line breaks, which would begin settings of their own in files of ssh. */
export function hasProxy(
  { name, template, isMachine }: { readonly name: string; readonly template: string; readonly isMachine: boolean },
  means: SshMeans,
): boolean {
  return means.hasPrograms && template !== "switch" && !isMachine && !/\p{Cc}/u.test(name + means.lab);
}

/** Returns the value of ssh's ProxyCommand that leads to a node. */
export function proxyCommand(node: string, means: SshMeans): string {
  const identity = means.identity === undefined ? [] : [`--identity=${means.identity}`];
  // ssh replaces %h and the like.
  return [...program("ssh", means), "--proxy", ...identity, "--", node].map(shellWord).join(" ").replaceAll("%", "%%");
}

/** Returns a command line that opens a shell in a node. */
export function shellCommand(node: string, means: SshMeans): string {
  return [...program("shell", means), node].map(shellWord).join(" ");
}

/** Returns the words of a command with the lab and the service. The path of this program, not its name: ssh and Ansible may run with another search path. */
function program(command: string, { lab, url, pin }: SshMeans): readonly string[] {
  const flags = Object.entries({ lab, url, pin }).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}=${value}`]));
  return [process.execPath, process.argv[1] ?? "labwright", command, ...flags];
}

/**
 * Returns the settings of ssh for nodes. Host keys are not compared: a wiped node has a new one. A published port is on the machine itself, and a connection
 * through the service is inside that to the service, whose certificate is compared.
 */
export function sshOptions({ identity }: SshMeans, user: string): Readonly<Record<string, string>> {
  return {
    User: user,
    StrictHostKeyChecking: "no",
    UserKnownHostsFile: "/dev/null",
    LogLevel: "ERROR",
    // The root of a node may be another user of the lab: a forwarded agent would sign in anywhere for that user.
    ForwardAgent: "no",
    ForwardX11: "no",
    ...(identity !== undefined && { IdentityFile: pathText(identity), IdentitiesOnly: "yes" }),
  };
}

/** Returns a path as ssh's settings have it. */
function pathText(path: string): string {
  const text = path.replaceAll("%", "%%");
  return /\s/.test(text) ? `"${text}"` : text;
}
