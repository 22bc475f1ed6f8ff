import { Failure } from "../../../contract/errors.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";

/** Nodes of one run of the program. */
const maxNodes = 1_000;
/** Maximum time of a run, ms, and bytes of its output: nodes may have many addresses. */
const limits = { timeoutMs: 10_000, maxOutputBytes: 16 << 20 };

/** Addresses with their prefixes, such as 10.0.0.1/24, by interface. */
export type InterfaceAddresses = ReadonlyMap<string, readonly string[]>;

/**
 * Reads the addresses of running nodes from the kernel, without their loopback addresses, at most 32 of each family for an interface. Nodes name their interfaces as they like: callers look only for
 * names that they know. @param program path of the holder @param pids process of each node, by node id
 */
export async function interfaceAddresses(
  sandbox: Pick<Sandbox, "run">,
  program: string,
  pids: ReadonlyMap<number, number>,
): Promise<ReadonlyMap<number, InterfaceAddresses>> {
  const nodes = new Map([...pids].map(([node, pid]) => [String(pid), node]));
  const words = [...nodes.keys()];
  const found = new Map<number, Map<string, string[]>>();
  for (let at = 0; at < words.length; at += maxNodes) {
    const { code, stdout, stderr } = await sandbox.run([program, "addresses", ...words.slice(at, at + maxNodes)], "", limits);
    if (code !== 0) throw new Failure("host_error", `the addresses of nodes could not be read: ${stderr.trim() || `exit code ${code}`}`);
    for (const line of stdout.split("\n")) {
      const [pid = "", name = "", address] = line.split(" ");
      const node = nodes.get(pid);
      if (node === undefined || address === undefined) continue;
      const interfaces = found.get(node) ?? new Map<string, string[]>();
      found.set(node, interfaces);
      interfaces.set(name, [...(interfaces.get(name) ?? []), address]);
    }
  }
  return found;
}
