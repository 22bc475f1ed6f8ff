import { type RunResult, succeeded } from "../machine/machine.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { Fabric, Port } from "./fabric.ts";

/**
 * Reads all bridges and ports of the fabric from the kernel: ports of nodes that died are gone, and an earlier run of the service may have been killed
 * during a change. A port that disappears while it is read is left out.
 */
export async function readFabric(sandbox: Pick<Sandbox, "run">): Promise<Fabric> {
  const argv = ["ip", "-j", "link", "show"];
  const links = parseLinks(succeeded(argv, await runWhole(sandbox, argv, "")).stdout);
  if (links.ports.size === 0) return links;
  const asked = [...links.ports.keys()].map((name) => `filter show dev ${name} ingress\n`).join("");
  const { stdout, gone } = await ask(sandbox, ["tc", "-j", "-force", "-batch", "-"], asked);
  const ports = new Map([...links.ports].filter(([name]) => !gone.has(name)));
  const found = parseRedirects(stdout);
  const redirects = new Map([...ports.keys()].map((name, i) => [name, found[i]]));
  return withRedirects({ bridges: links.bridges, ports }, (name) => redirects.get(name));
}

/**
 * Reads these ports; missing ports are left out. Its cost does not depend on the size of the fabric, because it does not read redirects: tc would list all
 * devices first.
 * @param redirects port → the target of its redirect, as it was last set
 */
export async function readPorts(
  sandbox: Pick<Sandbox, "run">,
  names: readonly string[],
  redirects: ReadonlyMap<string, string>,
): Promise<Fabric> {
  const asked = names.map((name) => `link show dev ${name}\n`).join("");
  const { stdout } = await ask(sandbox, ["ip", "-j", "-force", "-batch", "-"], asked);
  const found = stdout.split("\n").flatMap((line) => (line.startsWith("[") ? (JSON.parse(line) as IpLink[]) : []));
  const links = fabricOf(found);
  return withRedirects(links, (name) => redirects.get(name));
}

function withRedirects({ bridges, ports }: Fabric, redirect: (name: string) => string | undefined): Fabric {
  const complete = [...ports].map(([name, port]): [string, Port] => {
    const to = redirect(name);
    return [name, to === undefined ? port : { ...port, redirect: to }];
  });
  return { bridges, ports: new Map(complete) };
}

/** Runs a batch of queries about devices. Returns the output, and the devices that do not exist, which have no part in the output. */
async function ask(
  sandbox: Pick<Sandbox, "run">,
  argv: readonly string[],
  questions: string,
): Promise<{ readonly stdout: string; readonly gone: ReadonlySet<string> }> {
  const result = await runWhole(sandbox, argv, questions);
  const gone = new Set<string>();
  const serious = result.stderr.split("\n").filter((line) => {
    const name = /^(?:Device "(.*)" does not exist\.|Cannot find device "(.*)")$/.exec(line)?.slice(1).find(Boolean);
    if (name !== undefined) gone.add(name);
    return name === undefined && line !== "" && !line.startsWith("Command failed");
  });
  if (serious.length > 0 || (result.code !== 0 && gone.size === 0)) succeeded(argv, { ...result, stderr: serious.join("; ") });
  return { stdout: result.stdout, gone };
}

/** Repeats the query, up to `maxReads` times, while the kernel reports that its list of devices changed during the read. Returns the last result. */
async function runWhole(sandbox: Pick<Sandbox, "run">, argv: readonly string[], stdin: string): Promise<RunResult> {
  for (let left = maxReads; ; left--) {
    const result = await sandbox.run(argv, stdin);
    if (left <= 1 || !result.stderr.includes("Dump was interrupted")) return result;
  }
}

const maxReads = 10;

interface IpLink {
  readonly ifname: string;
  readonly flags: readonly string[];
  readonly mtu: number;
  readonly master?: string;
}

/** Parses the output of `ip -j link show`: ports and bridges of the fabric, without redirects. */
export function parseLinks(text: string): Fabric {
  return fabricOf(JSON.parse(text || "[]") as IpLink[]);
}

function fabricOf(links: readonly IpLink[]): Fabric {
  const bridges = new Set<string>();
  const ports = new Map<string, Port>();
  for (const { ifname, flags, mtu, master } of links) {
    if (/^[bs]\d+$/.test(ifname)) bridges.add(ifname);
    if (/^(n\d+i\d+|q\d+[ab])$/.test(ifname))
      ports.set(ifname, { up: flags.includes("UP"), mtu, ...(master === undefined ? {} : { master }) });
  }
  return { bridges, ports };
}

interface TcFilter {
  readonly options?: { readonly actions?: readonly { readonly kind: string; readonly to_dev?: string }[] };
}

/** Parses the output of `tc -j -batch` with one `filter show` per line. Returns the target of each redirect in that order; "*" if the target is gone. */
export function parseRedirects(text: string): readonly (string | undefined)[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("["))
    .map((line) => {
      const actions = (JSON.parse(line) as TcFilter[]).flatMap((filter) => filter.options?.actions ?? []);
      return actions.find((action) => action.kind === "mirred")?.to_dev;
    });
}
