import { Failure } from "../../contract/errors.ts";
import type { Fabric, Port } from "./fabric.ts";
import type { Sandbox } from "./sandbox.ts";

/** What stands in the fabric now, as the kernel tells it: nodes that died took their ports with them, and whoever looked before may have been killed. */
export async function readFabric(sandbox: Pick<Sandbox, "run">): Promise<Fabric> {
  const links = parseLinks(await run(sandbox, ["ip", "-j", "link", "show"], ""));
  const names = [...links.ports.keys()];
  if (names.length === 0) return links;
  const asked = names.map((name) => `filter show dev ${name} ingress\n`).join("");
  const redirects = parseRedirects(await run(sandbox, ["tc", "-j", "-batch", "-"], asked));
  const ports = new Map<string, Port>();
  for (const [i, name] of names.entries()) {
    const redirect = redirects[i];
    ports.set(name, { ...links.ports.get(name)!, ...(redirect === undefined ? {} : { redirect }) });
  }
  return { bridges: links.bridges, ports };
}

async function run(sandbox: Pick<Sandbox, "run">, argv: readonly string[], stdin: string): Promise<string> {
  const { code, stdout, stderr } = await sandbox.run(argv, stdin);
  if (code !== 0) {
    throw new Failure("host_error", `${argv.join(" ")}: ${stderr.trim()}`, { data: { host: { code, message: stderr.trim() } } });
  }
  return stdout;
}

interface IpLink {
  readonly ifname: string;
  readonly flags: readonly string[];
  readonly mtu: number;
  readonly master?: string;
}

/** The answer of `ip -j link show`: ports and bridges of ours; redirects are asked for apart. */
export function parseLinks(text: string): Fabric {
  const bridges = new Set<string>();
  const ports = new Map<string, Port>();
  for (const { ifname, flags, mtu, master } of JSON.parse(text || "[]") as IpLink[]) {
    if (/^[bs]\d+$/.test(ifname)) bridges.add(ifname);
    if (/^(n\d+i\d+|q\d+[ab])$/.test(ifname))
      ports.set(ifname, { up: flags.includes("UP"), mtu, ...(master === undefined ? {} : { master }) });
  }
  return { bridges, ports };
}

interface TcFilter {
  readonly options?: { readonly actions?: readonly { readonly kind: string; readonly to_dev?: string }[] };
}

/** The answers of `tc -j -batch` to one `filter show` a line, in that order: where each port redirects to; "*" where that device is gone. */
export function parseRedirects(text: string): readonly (string | undefined)[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("["))
    .map((line) => {
      const actions = (JSON.parse(line) as TcFilter[]).flatMap((filter) => filter.options?.actions ?? []);
      return actions.find((action) => action.kind === "mirred")?.to_dev;
    });
}
