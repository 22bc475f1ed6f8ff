import { createHash } from "node:crypto";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { KeyedQueue, SerialQueue } from "../../../base/keyed-queue.ts";
import { Failure } from "../../../contract/errors.ts";
import { ifThere } from "../../../files/if-there.ts";
import { writeFileAtomic } from "../../../files/write-file-atomic.ts";
import { type Ipv4Subnet, ipv4Subnet, ipv4Text, nodeAddresses, overlap, subnetText } from "../../../intent/addresses/ipv4.ts";
import { type Ipv6Subnet, ipv6Subnet, overlap6, subnet6Text } from "../../../intent/addresses/ipv6.ts";
import type { DefinedNode, LabDefinition } from "../definitions/definition.ts";
import { runOnMachine, succeeded } from "../machine/machine.ts";
import { probeMachine } from "../machine/probe-machine.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { assignAddresses, assignAddresses6, freeSubnet, ownSubnet6 } from "./addresses.ts";
import { machineRoutes, machineRoutes6 } from "./machine-routes.ts";
import { type ManagementAddresses, machineAddress6, managementRules } from "./management-rules.ts";
import { connectNodes, disconnectNodes, managementBridge } from "./node-interfaces.ts";

/**
 * The management network of a lab, as its management.json records it. The record stays while the lab is stopped, so that nodes keep their addresses. Its
 * device and table are recorded before they are made.
 */
interface ManagementRecord {
  readonly subnet: string;
  /** Node id → address, without a prefix. */
  readonly addresses: Readonly<Record<string, string>>;
  /** The same for IPv6; absent: the network has none. */
  readonly ipv6?: { readonly subnet: string; readonly addresses: Readonly<Record<string, string>> };
  /** The device and the table may exist. */
  readonly isUp: boolean;
}

/** A node with an interface in the management network. */
export interface ManagedNode extends Pick<DefinedNode, "id" | "name" | "mgmtIpv4" | "mgmtIpv6"> {
  /** Its interface belongs to a guest, which gets the addresses from its supervisor. */
  readonly isGuest: boolean;
}

type ManagedLab = Pick<LabDefinition, "id" | "management" | "nodes">;

/** Returns whether this host can make management networks now: it is real root, and nftables works. */
export async function managementWorks(): Promise<boolean> {
  return process.getuid?.() === 0 && (await probeMachine(["nft", "list", "tables"])).code === 0;
}

/** Changes of a lab's management network, by the lab's directory. */
const labQueue = new KeyedQueue();
/** Labs choose their networks one after the other, so that each sees the networks that the others took. */
const choiceQueue = new SerialQueue();
/** Table → the rules that this process set last. */
const rulesInForce = new Map<string, string>();

/**
 * Makes the lab's management network what the definition asks for, and removes one that it does not ask for. Throws host_error if its addresses are in use.
 * @param managed the nodes that have an interface in it
 * @param live node id → the pid, inside the sandbox, of each running node
 */
export function ensureManagement(
  directory: string,
  sandbox: Pick<Sandbox, "pid" | "run">,
  lab: ManagedLab,
  managed: readonly ManagedNode[],
  live: ReadonlyMap<number, number>,
): Promise<void> {
  return labQueue.run(directory, async () => {
    const before = await recorded(directory);
    if (lab.management === undefined) {
      if (before === undefined) return;
      await disconnectNodes(sandbox);
      await removeUplink(lab.id);
      await rm(join(directory, "management.json"), { force: true });
      return;
    }
    const { ipv4, ipv6 } = await choiceQueue.run(async () => {
      const settled = await settle(directory, lab, managed, before);
      const after = recordOf(settled, true);
      if (before?.isUp === true && (before.subnet !== after.subnet || before.ipv6?.subnet !== after.ipv6?.subnet))
        await removeUplink(lab.id);
      await writeRecord(directory, after);
      await makeUplink(lab.id, sandbox, settled);
      return settled;
    });
    const guests = new Set(managed.flatMap(({ id, isGuest }) => (isGuest ? [id] : [])));
    const nodes = [...live].flatMap(([id, pid]) => {
      const [own4, own6] = [ipv4.addresses.get(id), ipv6?.addresses.get(id)];
      if (own4 === undefined) return [];
      return [
        {
          id,
          pid,
          isGuest: guests.has(id),
          ipv4: `${own4}/${ipv4.subnet.length}`,
          ...(own6 !== undefined && { ipv6: `${own6}/${ipv6?.subnet.length}` }),
        },
      ];
    });
    await connectNodes(sandbox, lab.id, nodes);
  });
}

/** Chooses the addresses of the lab's nodes before any of them starts. Throws host_error if that is not possible. */
export function settleManagement(directory: string, lab: ManagedLab, managed: readonly ManagedNode[]): Promise<void> {
  if (lab.management === undefined) return Promise.resolve();
  return labQueue.run(directory, async () => {
    const before = await recorded(directory);
    await choiceQueue.run(async () => {
      const settled = await settle(directory, lab, managed, before);
      // An uplink in another network is removed after the start, with the record of it.
      if (before?.isUp !== true) await writeRecord(directory, recordOf(settled, false));
    });
  });
}

/** Throws host_error if a lab cannot have the network, because the machine or another lab uses its addresses. @param lab id of the lab; absent: it is new */
export async function refuseUsedSubnet(text: string, lab: string | undefined): Promise<void> {
  const without = lab === undefined ? undefined : uplinkOf(lab).device;
  const clash = text.includes(":") ? await clash6(text, without) : await clash4(text, without);
  if (clash === undefined) return;
  const who = clash.device.startsWith(devicePrefix) ? "another lab uses it" : `the machine has the route ${clash.route}, ${clash.device}`;
  const hint = text.includes(":")
    ? "Write another ipv6-subnet, or auto for a free one"
    : "Write another ipv4-subnet, or auto for a free one";
  throw unavailable(`the management network ${text} is in use: ${who}. ${hint}`);
}

interface Clash {
  readonly route: string;
  readonly device: string;
}

async function clash4(text: string, without: string | undefined): Promise<Clash | undefined> {
  const subnet = ipv4Subnet(text);
  if (subnet === undefined) throw unavailable(`the management network ${text} is not an IPv4 network with a prefix length from 16 to 29`);
  const route = (await machineRoutes(without)).find((one) => overlap(one, subnet));
  return route && { route: subnetText(route), device: route.device };
}

async function clash6(text: string, without: string | undefined): Promise<Clash | undefined> {
  const subnet = ipv6Subnet(text);
  if (subnet === undefined) throw unavailable(`the management network ${text} is not an IPv6 network with a prefix length from 64 to 96`);
  const route = (await machineRoutes6(without)).find((one) => overlap6(one, subnet));
  return route && { route: subnet6Text(route), device: route.device };
}

/** Removes the machine's side of a lab whose sandbox has ended or is about to end. The addresses stay recorded. */
export function removeManagement(lab: string, directory: string): Promise<void> {
  return labQueue.run(directory, async () => {
    const before = await recorded(directory);
    if (before?.isUp !== true) return;
    await removeUplink(lab);
    await writeRecord(directory, { ...before, isUp: false });
  });
}

/** Returns node id → addresses with their prefixes, IPv4 first, as recorded. */
export async function managementAddresses(directory: string, { management }: ManagedLab): Promise<ReadonlyMap<number, readonly string[]>> {
  const found = management === undefined ? undefined : await recorded(directory);
  if (found === undefined) return new Map();
  const { subnet, addresses, ipv6 } = found;
  const with6 = (id: string) => (ipv6?.addresses[id] === undefined ? [] : [`${ipv6.addresses[id]}/${ipv6.subnet.split("/")[1]}`]);
  return new Map(Object.entries(addresses).map(([id, address]) => [Number(id), [`${address}/${subnet.split("/")[1]}`, ...with6(id)]]));
}

interface Settled {
  readonly ipv4: ManagementAddresses<Ipv4Subnet>;
  readonly ipv6?: ManagementAddresses<Ipv6Subnet>;
}

/** Returns the network and the addresses of a lab: those that it has, as far as they are still right. */
async function settle(
  directory: string,
  { id, management, nodes }: ManagedLab,
  managed: readonly ManagedNode[],
  before: ManagementRecord | undefined,
): Promise<Settled> {
  const wanted = management?.ipv4Subnet;
  // A network that is in use by this lab stays, also if the machine has got a route to a part of it since.
  const kept = before?.isUp === true && (wanted === undefined || wanted === before.subnet) ? before.subnet : undefined;
  if (wanted !== undefined && kept === undefined) await refuseUsedSubnet(wanted, id);
  const subnet = ipv4Subnet(kept ?? wanted ?? "") ?? (await chosenSubnet(directory, id, nodes.length, before));
  const old = new Map(Object.entries(before?.addresses ?? {}).map(([node, address]) => [Number(node), address]));
  const addresses = assignAddresses(managed, subnet, old);
  if (!("without" in addresses)) {
    const ipv4 = { subnet, addresses };
    const subnet6 = await wantedSubnet6(id, management?.ipv6Subnet, before);
    return subnet6 === undefined ? { ipv4 } : { ipv4, ipv6: { subnet: subnet6, addresses: assignAddresses6(managed, subnet6, ipv4) } };
  }
  const hint = "write management: {ipv4-subnet: …} with a larger network";
  throw unavailable(`node ${addresses.without}: the management network ${subnetText(subnet)} has no free address: ${hint}`);
}

async function wantedSubnet6(
  lab: string,
  wanted: string | undefined,
  before: ManagementRecord | undefined,
): Promise<Ipv6Subnet | undefined> {
  if (wanted === undefined) return undefined;
  const subnet = wanted === "auto" ? ownSubnet6(lab) : ipv6Subnet(wanted);
  if (subnet === undefined) throw unavailable(`the management network ${wanted} is not an IPv6 network with a prefix length from 64 to 96`);
  const text = subnet6Text(subnet);
  if (before?.isUp !== true || before.ipv6?.subnet !== text) await refuseUsedSubnet(text, lab);
  return subnet;
}

async function chosenSubnet(directory: string, lab: string, nodes: number, before: ManagementRecord | undefined): Promise<Ipv4Subnet> {
  const routes = await machineRoutes(uplinkOf(lab).device);
  const kept = before === undefined ? undefined : ipv4Subnet(before.subnet);
  if (kept !== undefined && !routes.some((route) => overlap(route, kept))) return kept;
  const found = freeSubnet(lab, nodes, [...routes, ...(await subnetsOfOthers(directory))]);
  if (found !== undefined) return found;
  throw unavailable("every network of 198.18.0.0/15 is in use: write management: {ipv4-subnet: …}");
}

/** Returns the recorded networks of the other labs of this host, which may be stopped. */
async function subnetsOfOthers(directory: string): Promise<readonly Ipv4Subnet[]> {
  const labs = dirname(directory);
  const others = (await readdir(labs)).map((name) => join(labs, name)).filter((other) => other !== directory);
  // A record that cannot be read blocks only its own lab.
  const records = await Promise.all(others.map((other) => recorded(other).catch(() => undefined)));
  return records.flatMap((one) => (one === undefined ? [] : (ipv4Subnet(one.subnet) ?? [])));
}

async function recorded(directory: string): Promise<ManagementRecord | undefined> {
  try {
    return JSON.parse(await readFile(join(directory, "management.json"), "utf8")) as ManagementRecord;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}

function recordOf({ ipv4, ipv6 }: Settled, isUp: boolean): ManagementRecord {
  const more = ipv6 && { subnet: subnet6Text(ipv6.subnet), addresses: Object.fromEntries(ipv6.addresses) };
  const addresses = Object.fromEntries(ipv4.addresses);
  return { subnet: subnetText(ipv4.subnet), addresses, ...(more !== undefined && { ipv6: more }), isUp };
}

async function writeRecord(directory: string, value: ManagementRecord): Promise<void> {
  await writeFileAtomic(join(directory, "management.json"), JSON.stringify(value), 0o600);
}

/** Prefix of the machine's ends of management networks. nat networks forward nothing to any device with its first letters. */
const devicePrefix = "lw-m";

/** Returns the names of the machine's side: the end of the veth, and the nftables tables. */
export function uplinkOf(lab: string): { readonly device: string; readonly table: string } {
  const hash = createHash("sha256").update(`${lab}/management`).digest("hex");
  return { device: `${devicePrefix}${hash.slice(0, 11)}`, table: `labwright_${lab.replaceAll("-", "_")}_management` };
}

/** Makes the machine's side as far as it is missing, and updates its rules. */
async function makeUplink(lab: string, sandbox: Pick<Sandbox, "pid" | "run">, { ipv4, ipv6 }: Settled): Promise<void> {
  const uplink = uplinkOf(lab);
  const { device, table } = uplink;
  const rules = managementRules(uplink, ipv4, ipv6);
  const [hasDevice, hasRules] = await Promise.all([
    runOnMachine(["ip", "link", "show", "dev", device]),
    runOnMachine(["nft", "list", "table", "inet", table]),
  ]);
  if (hasRules.code !== 0 || rulesInForce.get(table) !== rules) {
    await machine(["nft", "-f", "-"], rules);
    rulesInForce.set(table, rules);
  }
  if (hasDevice.code !== 0) {
    await machine(["ip", "link", "add", "name", device, "type", "veth", "peer", "name", inner, "netns", String(sandbox.pid)]);
    // Nodes must not configure the machine.
    const settings = ipv6 === undefined ? { disable_ipv6: 1 } : { accept_ra: 0, autoconf: 0, disable_ipv6: 0 };
    for (const [name, value] of Object.entries(settings))
      await ifThere(writeFile(`/proc/sys/net/ipv6/conf/${device}/${name}`, String(value)));
  }
  // Again each time: a crash may have left a part. The rules are in force before the device is up.
  const bridge = `link show dev ${managementBridge}\n`;
  if ((await sandbox.run(["ip", "-batch", "-"], bridge)).code !== 0)
    await inLab(sandbox, `link add name ${managementBridge} up type bridge stp_state 0 mcast_snooping 0\n`);
  await inLab(sandbox, `link set dev ${inner} master ${managementBridge} up\n`);
  const addresses = [
    [`${ipv4Text(nodeAddresses(ipv4.subnet).machine)}/${ipv4.subnet.length}`, ""],
    ...(ipv6 === undefined ? [] : [[`${machineAddress6(ipv6.subnet)}/${ipv6.subnet.length}`, " nodad"]]),
  ];
  const lines = addresses.map(([address, option]) => `addr replace ${address} dev ${device}${option}\n`);
  await machine(["ip", "-batch", "-"], `${lines.join("")}link set dev ${device} up\n`);
}

/** The lab's end of the veth. */
const inner = "mgmt-up";

async function removeUplink(lab: string): Promise<void> {
  const { device, table } = uplinkOf(lab);
  await deleteIfExists(["ip", "link", "del", "dev", device]);
  rulesInForce.delete(table);
  for (const family of ["inet", "arp"]) await deleteIfExists(["nft", "delete", "table", family, table]);
}

async function machine(argv: readonly string[], stdin = "") {
  return succeeded(argv, await runOnMachine(argv, stdin));
}

async function inLab(sandbox: Pick<Sandbox, "run">, lines: string): Promise<void> {
  succeeded(["ip", "-batch", lines.trim()], await sandbox.run(["ip", "-batch", "-"], lines));
}

/** Runs a command that deletes something. Ignores that it is gone already. */
async function deleteIfExists(argv: readonly string[]): Promise<void> {
  const result = await runOnMachine(argv);
  if (result.code !== 0 && !/No such file or directory|Cannot find device|No such device/.test(result.stderr)) succeeded(argv, result);
}

function unavailable(message: string): Failure {
  return new Failure("host_error", message, { data: { host: { code: "management_unavailable", message } } });
}
