import { createHash } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { KeyedQueue, SerialQueue } from "../../../base/keyed-queue.ts";
import { ifThere } from "../../../files/if-there.ts";
import { writeFileAtomic } from "../../../files/write-file-atomic.ts";
import { networkBridge } from "../links/fabric.ts";
import { runOnMachine, succeeded } from "../machine/machine.ts";
import { probeMachine } from "../machine/probe-machine.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { connectedNetworks, devicePrefix, type NatPolicy, natRules } from "./nat-rules.ts";

/**
 * The uplink of a nat network: a veth from its bridge to the machine, which masquerades the packets of the lab. Uplinks are the only part of the embedded host
 * that changes the machine's own network. Each is recorded in the lab's nat.json before it is made, and removed by its recorded names.
 */
export interface NatUplink {
  readonly network: number;
  /** First three bytes of its /24: "100.64.7". The machine has .1, the DHCP server .2, and leases .100–.250; nodes may have static addresses .3–.99. */
  readonly prefix: string;
  /** The machine's end of the veth. */
  readonly device: string;
  /** The nftables table (family inet). */
  readonly table: string;
}

/** Returns whether this host can make uplinks now: it is real root, nftables works, and busybox has a DHCP server. */
export async function natWorks(): Promise<boolean> {
  if (process.getuid?.() !== 0) return false;
  const [nft, dhcp] = await Promise.all([probeMachine(["nft", "list", "tables"]), probeMachine(["busybox", "--list"])]);
  return nft.code === 0 && dhcp.code === 0 && dhcp.stdout.split("\n").includes("udhcpd");
}

/** Returns the recorded uplinks of the lab in `directory`. */
async function recordedUplinks(directory: string): Promise<readonly NatUplink[]> {
  try {
    return JSON.parse(await readFile(join(directory, "nat.json"), "utf8")) as NatUplink[];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** Changes of a lab's uplinks, by the lab's directory. A lab that ends removes its uplinks, also during a change, which must not recreate them after that. */
const labQueue = new KeyedQueue();

/**
 * Makes missing uplinks, removes uplinks of removed networks, and updates the rules of the others.
 * @param networks ids of the lab's nat networks; their bridges must exist in the fabric
 */
export function ensureUplinks(
  lab: string,
  directory: string,
  sandbox: Pick<Sandbox, "pid" | "run">,
  networks: readonly number[],
  policy: NatPolicy,
): Promise<void> {
  return labQueue.run(directory, () => updateUplinks(lab, directory, sandbox, networks, policy));
}

async function updateUplinks(
  lab: string,
  directory: string,
  sandbox: Pick<Sandbox, "pid" | "run">,
  networks: readonly number[],
  policy: NatPolicy,
): Promise<void> {
  const recorded = await recordedUplinks(directory);
  const kept = recorded.filter((uplink) => networks.includes(uplink.network));
  for (const uplink of recorded) if (!kept.includes(uplink)) await removeUplink(uplink, sandbox);
  let all = kept;
  for (const network of networks) {
    const known = kept.find((uplink) => uplink.network === network);
    if (known !== undefined && (await exists(known))) {
      await setRules(known, policy);
      continue;
    }
    if (known !== undefined) await removeUplink(known, sandbox);
    await choiceQueue.run(async () => {
      const uplink = known ?? (await newUplink(lab, network));
      all = [...all.filter((one) => one.network !== network), uplink];
      await record(directory, all);
      await makeUplink(uplink, sandbox, policy);
    });
  }
  if (all.length !== recorded.length || kept.length !== recorded.length) await record(directory, all);
}

/** Updates the rules of a running lab's uplinks, which an earlier run of the service may have made with another policy. */
export function renewUplinks(directory: string, policy: NatPolicy): Promise<void> {
  return labQueue.run(directory, async () => {
    for (const uplink of await recordedUplinks(directory)) {
      if (!(await exists(uplink))) continue;
      rulesInForce.delete(uplink.table);
      await setRules(uplink, policy);
    }
  });
}

/** Labs choose their networks one after the other, so that each sees the networks that the others took. */
const choiceQueue = new SerialQueue();

/** Removes all recorded uplinks of a lab whose sandbox has ended or is about to end. */
export function removeUplinks(directory: string): Promise<void> {
  return labQueue.run(directory, async () => {
    const recorded = await recordedUplinks(directory);
    for (const uplink of recorded) await removeUplink(uplink, null);
    if (recorded.length > 0) await record(directory, []);
  });
}

/** Removes the nftables tables of an ended lab whose record is lost. The machine's ends of its uplinks ended with the lab. */
export async function removeUnrecordedTables(lab: string): Promise<void> {
  const { code, stdout } = await runOnMachine(["nft", "list", "tables"]);
  if (code !== 0) return; // a user who may not list tables has made none
  for (const [, family = "", table = ""] of stdout.matchAll(/^table (inet|arp) (\S+)$/gm))
    if (table.startsWith(tableOf(lab, ""))) await deleteIfExists(["nft", "delete", "table", family, table]);
}

async function record(directory: string, uplinks: readonly NatUplink[]): Promise<void> {
  if (uplinks.length === 0) await rm(join(directory, "nat.json"), { force: true });
  else await writeFileAtomic(join(directory, "nat.json"), JSON.stringify(uplinks), 0o600);
}

/** Table → the rules that this process set last. */
const rulesInForce = new Map<string, string>();

/** Replaces the rules of the uplink in one step, unless they are unchanged. */
async function setRules(uplink: NatUplink, policy: NatPolicy): Promise<void> {
  const { stdout } = await machine(["ip", "-4", "route", "show", "table", "all", "scope", "link"], "");
  const rules = natRules(uplink, policy, { connected: connectedNetworks(stdout), resolvers: await nameservers() });
  if (rulesInForce.get(uplink.table) === rules) return;
  await machine(["nft", "-f", "-"], rules);
  rulesInForce.set(uplink.table, rules);
}

async function makeUplink(uplink: NatUplink, sandbox: Pick<Sandbox, "pid" | "run">, policy: NatPolicy): Promise<void> {
  const { network, prefix, device } = uplink;
  const inner = `u${network}`;
  await machine(["ip", "-batch", "-"], `link add name ${device} type veth peer name ${inner} netns ${sandbox.pid}\n`);
  // Nodes must not reach the machine's IPv6 services.
  await ifThere(writeFile(`/proc/sys/net/ipv6/conf/${device}/disable_ipv6`, "1"));
  rulesInForce.delete(uplink.table);
  await setRules(uplink, policy);
  await machine(["ip", "-batch", "-"], `addr add ${prefix}.1/24 dev ${device}\nlink set dev ${device} up\n`);
  await writeFile("/proc/sys/net/ipv4/ip_forward", "1");

  const bridge = networkBridge(network);
  const batch = `link set dev ${inner} master ${bridge} up\naddr replace ${prefix}.2/24 dev ${bridge}\n`;
  succeeded(["ip", "-batch", "-"], await sandbox.run(["ip", "-batch", "-"], batch));
  const server = ["sh", "-c", dhcpServer, "sh", `${prefix}.2`];
  succeeded(["busybox", "udhcpd"], await sandbox.run(server, await dhcpConfiguration(prefix, bridge)));
}

/** Runs udhcpd in the background until the lab ends. In its own background mode udhcpd could not read its configuration from stdin. */
const dhcpServer = `conf=$(cat); printf '%s\\n' "$conf" | busybox udhcpd -f -a 100 -I "$1" /dev/stdin >/dev/null 2>&1 &`;

/** Ends the DHCP server with this address, which it finds by the command line. */
const endDhcpServer = `for p in /proc/[0-9]*; do
  case "$(tr '\\0' ' ' 2>/dev/null < "$p/cmdline")" in "busybox udhcpd -f -a 100 -I $1 "*) kill "\${p#/proc/}" ;; esac
done
:`;

async function removeUplink({ prefix, device, table }: NatUplink, sandbox: Pick<Sandbox, "run"> | null): Promise<void> {
  if (sandbox !== null) {
    const argv = ["sh", "-c", endDhcpServer, "sh", `${prefix}.2`];
    succeeded(["kill", "udhcpd"], await sandbox.run(argv));
  }
  rulesInForce.delete(table);
  for (const family of ["inet", "arp"]) await deleteIfExists(["nft", "delete", "table", family, table]);
  await deleteIfExists(["ip", "link", "del", "dev", device]);
}

async function newUplink(lab: string, network: number): Promise<NatUplink> {
  return {
    network,
    prefix: freePrefix(hashOf(lab, network).readUInt16BE(0), await prefixesInUse()),
    device: natDevice(lab, network),
    table: tableOf(lab, network),
  };
}

/** Returns the name of the machine's end of a nat network's uplink. */
export function natDevice(lab: string, network: number): string {
  return `${devicePrefix}${hashOf(lab, network).toString("hex").slice(0, 12)}`;
}

function hashOf(lab: string, network: number): Buffer {
  return createHash("sha256").update(`${lab}/${network}`).digest();
}

function tableOf(lab: string, network: number | ""): string {
  return `labwright_${lab.replaceAll("-", "_")}_${network}`;
}

/** Returns the first unused /24 of 100.64.0.0/10 (shared address space, RFC 6598), beginning with number `start`. */
function freePrefix(start: number, used: ReadonlySet<string>): string {
  const count = 64 * 256;
  for (let i = 0; i < count; i++) {
    const n = (start + i) % count;
    const prefix = `100.${64 + (n >> 8)}.${n & 255}`;
    if (!used.has(prefix)) return prefix;
  }
  throw new Error("every network of 100.64.0.0/10 is in use");
}

/** Returns the /24 prefixes of all addresses and routes of the machine. */
async function prefixesInUse(): Promise<ReadonlySet<string>> {
  const { stdout } = await machine(["ip", "-4", "route", "show", "table", "all"], "");
  return new Set([...stdout.matchAll(/\b(\d+\.\d+\.\d+)\.\d+/g)].map((match) => match[1]!));
}

async function exists(uplink: NatUplink): Promise<boolean> {
  const results = await Promise.all([
    runOnMachine(["ip", "link", "show", "dev", uplink.device]),
    runOnMachine(["nft", "list", "table", "inet", uplink.table]),
  ]);
  return results.every((result) => result.code === 0);
}

async function dhcpConfiguration(prefix: string, bridge: string): Promise<string> {
  const resolvers = await nameservers();
  return [
    `start ${prefix}.100`,
    `end ${prefix}.250`,
    `interface ${bridge}`,
    "max_leases 151",
    // Leases last as long as the lab. The path of the pid file cannot be created, so that none is written.
    "lease_file /dev/null",
    "pidfile /nonexistent/udhcpd.pid",
    "option subnet 255.255.255.0",
    `option router ${prefix}.1`,
    ...(resolvers.length > 0 ? [`option dns ${resolvers.join(" ")}`] : []),
    "option lease 86400",
    "",
  ].join("\n");
}

/** Returns the machine's resolvers, without those on its loopback, which labs cannot reach. */
async function nameservers(): Promise<readonly string[]> {
  for (const file of ["/run/systemd/resolve/resolv.conf", "/etc/resolv.conf"]) {
    const text = await ifThere(readFile(file, "utf8"));
    const found = [...(text ?? "").matchAll(/^nameserver\s+(\d+\.\d+\.\d+\.\d+)\s*$/gm)].map((match) => match[1]!);
    const usable = found.filter((address) => !address.startsWith("127."));
    if (usable.length > 0) return usable;
  }
  return [];
}

async function machine(argv: readonly string[], stdin: string) {
  return succeeded(argv, await runOnMachine(argv, stdin));
}

/** Runs a command that deletes something. Ignores that it is gone already. */
async function deleteIfExists(argv: readonly string[]): Promise<void> {
  const result = await runOnMachine(argv);
  if (result.code !== 0 && !/No such file or directory|Cannot find device|No such device/.test(result.stderr)) succeeded(argv, result);
}
