import { managementInterface } from "../../../intent/lab/lab.ts";
import { macAddress, managementIndex } from "../definitions/mac-address.ts";
import { succeeded } from "../machine/machine.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";

/** The bridge in the net namespace of the lab's fabric. */
export const managementBridge = "mgmt";

/** A running node with its address. */
export interface ConnectedNode {
  readonly id: number;
  /** Inside the sandbox. */
  readonly pid: number;
  /** Its interface belongs to a guest, which sets the addresses. */
  readonly isGuest: boolean;
  /** With its prefix, as ipv6. */
  readonly ipv4: string;
  readonly ipv6?: string;
}

/** Sandbox → the addresses that this process has set last: the fabric's end → a line of setAddresses. Many nodes take long. */
const assigned = new WeakMap<object, ReadonlyMap<string, string>>();

/**
 * Gives these nodes their interfaces and addresses, and removes the interfaces of all others. The fabric's end is named after the node's process: a node that
 * has started again never has the interface of an earlier boot.
 */
export async function connectNodes(sandbox: Pick<Sandbox, "run">, lab: string, nodes: readonly ConnectedNode[]): Promise<void> {
  const existing = await ports(sandbox);
  const wanted = new Map(nodes.map((node) => [`m${node.id}p${node.pid}`, node]));
  await remove(
    sandbox,
    existing.filter((name) => !wanted.has(name)),
  );
  const known = new Set(existing);
  const lines = [...wanted].flatMap(([name, { id, pid }]) => {
    if (known.has(name)) return [];
    const far = `${managementInterface} address ${macAddress(lab, id, managementIndex)}`;
    return [`link add name ${far}${oneQueue} netns ${pid} up type veth peer name ${name}${oneQueue}`];
  });
  const bridged = [...wanted.keys()].map((name) => `link set dev ${name} master ${managementBridge} up`);
  await run(sandbox, ["ip", "-batch", "-"], [...lines, ...bridged]);
  const before = assigned.get(sandbox) ?? new Map<string, string>();
  const after = new Map(
    [...wanted].map(([name, { pid, isGuest, ipv4, ipv6 = "" }]) => [name, `${pid} ${isGuest ? "guest" : "node"} ${ipv4} ${ipv6}`]),
  );
  const addresses = [...after].flatMap(([name, line]) => (known.has(name) && before.get(name) === line ? [] : [line]));
  assigned.delete(sandbox);
  await run(sandbox, ["sh", "-c", setAddresses], addresses);
  assigned.set(sandbox, after);
}

/** Removes the network from the fabric. */
export async function disconnectNodes(sandbox: Pick<Sandbox, "run">): Promise<void> {
  await remove(sandbox, await ports(sandbox));
  await remove(sandbox, [managementBridge]);
}

const oneQueue = " numtxqueues 1 numrxqueues 1";

/**
 * Reads lines with the pid and the addresses of a node. A node that has its addresses already is left alone. The supervisor of a guest reads them from the
 * interface's alias (native/supervisor/ports.c).
 */
const setAddresses = `while read -r pid of ipv4 ipv6; do
  if test "$of" = guest; then
    nsenter -t "$pid" -n ip link set dev ${managementInterface} alias "$ipv4 $ipv6" </dev/null || exit
    continue
  fi
  nsenter -t "$pid" -n sh -c '
    has() { ip -o "$1" addr show dev ${managementInterface} scope global | sed -n "s/.* inet6* \\([^ ]*\\).*/\\1/p"; }
    test "$(has -4)" = "$1" || { ip -4 addr flush dev ${managementInterface} && ip addr add "$1" dev ${managementInterface}; } || exit
    test "$(has -6)" = "$2" && exit
    ip -6 addr flush dev ${managementInterface} scope global
    test "$2" = "" && exit
    echo 0 > /proc/sys/net/ipv6/conf/${managementInterface}/disable_ipv6 && ip addr add "$2" dev ${managementInterface} nodad
  ' sh "$ipv4" "$ipv6" </dev/null || exit
done`;

const maxReads = 10;

async function ports(sandbox: Pick<Sandbox, "run">): Promise<readonly string[]> {
  const links = ["ip", "-j", "link", "show", "type", "veth"];
  let result = await sandbox.run(links);
  // The list changed while the kernel wrote it.
  for (let left = maxReads; left > 1 && result.stderr.includes("Dump was interrupted"); left--) result = await sandbox.run(links);
  const { stdout } = succeeded(links, result);
  const found = JSON.parse(stdout || "[]") as readonly { readonly ifname?: string }[];
  return found.flatMap(({ ifname = "" }) => (/^m\d+p\d+$/.test(ifname) ? [ifname] : []));
}

async function remove(sandbox: Pick<Sandbox, "run">, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  const argv = ["ip", "-force", "-batch", "-"];
  const result = await sandbox.run(argv, names.map((name) => `link del dev ${name}\n`).join(""));
  const serious = result.stderr.split("\n").filter((line) => line !== "" && !/^(Cannot find device|Command failed)/.test(line));
  if (serious.length > 0) succeeded(argv, { ...result, stderr: serious.join("; ") });
}

async function run(sandbox: Pick<Sandbox, "run">, argv: readonly string[], lines: readonly string[]): Promise<void> {
  if (lines.length > 0) succeeded(argv, await sandbox.run(argv, lines.map((line) => `${line}\n`).join("")));
}
