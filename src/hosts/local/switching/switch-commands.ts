import { nativeVlanOf } from "../../../intent/lab/switching.ts";
import type { ActualPort, ActualSwitch, ActualSwitches } from "./read-switches.ts";
import type { WantedSwitch, WantedSwitchPort } from "./wanted-switches.ts";

/** Words of one command of ovs-vsctl. */
export type Command = readonly string[];

/**
 * Returns lists of commands; each list is one transaction. Ports whose settings do not change keep passing frames.
 * @param remade devices that were made since Open vSwitch opened those of the same names
 */
export function switchCommands(
  wanted: readonly WantedSwitch[],
  actual: ActualSwitches,
  remade: ReadonlySet<string>,
): readonly (readonly Command[])[] {
  const names = new Set(wanted.map(({ name }) => name));
  const removed = [...actual.keys()].filter((name) => !names.has(name)).map((name): Command => ["--if-exists", "del-br", name]);
  const before: Command[] = [];
  const changes: (readonly Command[])[] = [];
  for (const one of wanted) {
    const there = actual.get(one.name);
    const gone = there === undefined ? [] : stalePorts(one, there, remade);
    if (there !== undefined && there.digest === one.digest && gone.length === 0 && !isIncomplete(one, there)) continue;
    before.push(...gone.map((name): Command => ["--if-exists", "del-port", one.name, name]));
    // A port that is made while a spanning tree ends could stay blocked.
    if (there !== undefined) before.push(setBridge(one));
    changes.push(setSwitch(one));
  }
  const first = [...removed, ...before];
  return first.length === 0 ? changes : [first, ...changes];
}

/** Returns the ports that must be removed: unwanted ones, and those that would be made again with other or newer devices. */
function stalePorts({ ports, spanningTree }: WantedSwitch, actual: ActualSwitch, remade: ReadonlySet<string>): readonly string[] {
  // When a spanning tree ends, Open vSwitch 3.1 goes on blocking the ports that do not forward yet: they are made again.
  const ends = (actual.usesStp && spanningTree.mode !== "stp") || (actual.usesRstp && spanningTree.mode !== "rstp");
  if (ends) return actual.ports.map(({ name }) => name);
  const wanted = new Map(ports.map((port) => [port.name, port]));
  const isCurrent = ({ name, interfaces }: ActualPort) => {
    const devices = wanted
      .get(name)
      ?.interfaces.map(({ device }) => device)
      .toSorted();
    if (devices === undefined || devices.join() !== interfaces.map((one) => one.name).join()) return false;
    return !interfaces.some((one) => remade.has(one.name) || one.error !== undefined || one.port === -1);
  };
  return actual.ports.filter((port) => !isCurrent(port)).map(({ name }) => name);
}

function isIncomplete({ ports }: WantedSwitch, actual: ActualSwitch): boolean {
  const there = new Set(actual.ports.map(({ name }) => name));
  return ports.some(({ name }) => !there.has(name));
}

function setSwitch(wanted: WantedSwitch): readonly Command[] {
  const { name, ports, mirror, digest } = wanted;
  return [
    ["--may-exist", "add-br", name],
    setBridge(wanted),
    ...ports.flatMap((port) => setPort(name, port)),
    ...setMirror(name, mirror),
    ["set", "Bridge", name, `external_ids:labwright=${digest}`],
  ];
}

function setBridge({ name, mac, spanningTree: { mode, priority } }: WantedSwitch): Command {
  return [
    ...["set", "Bridge", name, "datapath_type=netdev", "fail_mode=standalone"],
    ...[`stp_enable=${mode === "stp"}`, `rstp_enable=${mode === "rstp"}`],
    ...[`other_config:hwaddr="${mac}"`, `other_config:stp-priority=${priority}`, `other_config:rstp-priority=${priority}`],
  ];
}

function setPort(bridge: string, { name, interfaces, vlans, lacp }: WantedSwitchPort): readonly Command[] {
  const devices = interfaces.map(({ device }) => device);
  const add: Command =
    devices.length === 1 ? ["--may-exist", "add-port", bridge, name] : ["--may-exist", "add-bond", bridge, name, ...devices];
  const vlan = vlanSettings(vlans);
  return [
    add,
    ["clear", "Port", name, "tag", "trunks", "lacp", "bond_mode", "other_config"],
    ["set", "Port", name, ...vlan, ...(lacp === undefined ? [] : lagSettings(lacp, devices))],
  ];
}

function vlanSettings(port: WantedSwitchPort["vlans"]): readonly string[] {
  if (port.mode === "access") return ["vlan_mode=access", `tag=${port.vlan ?? 1}`];
  const native = nativeVlanOf(port);
  const trunks = port.vlans === undefined ? [] : [`trunks=${port.vlans.join(",")}`];
  return native === undefined ? ["vlan_mode=trunk", ...trunks] : ["vlan_mode=native-untagged", `tag=${native}`, ...trunks];
}

/**
 * With LACP, a frame is sent and expected each second, so that a failure that only the other side notices ends the use of a link within 3 s. Without LACP, Open
 * vSwitch has no mode in which both sides may use all members. One member is used: the first with carrier, the same on both sides.
 */
function lagSettings(lacp: string, [first = ""]: readonly string[]): readonly string[] {
  if (lacp === "off") return ["lacp=off", "bond_mode=active-backup", `other_config:bond-primary=${first}`];
  return [`lacp=${lacp}`, "bond_mode=balance-tcp", "other_config:lacp-time=fast"];
}

function setMirror(bridge: string, mirror: WantedSwitch["mirror"]): readonly Command[] {
  if (mirror === undefined) return [["clear", "Bridge", bridge, "mirrors"]];
  const from = mirror.from.map((_, at) => `@from${at}`).join(",");
  return [
    ...mirror.from.map((name, at): Command => [`--id=@from${at}`, "get", "Port", name]),
    ["--id=@to", "get", "Port", mirror.to],
    ["--id=@mirror", "create", "Mirror", `name=${bridge}`, `select_src_port=${from}`, `select_dst_port=${from}`, "output_port=@to"],
    ["set", "Bridge", bridge, "mirrors=@mirror"],
  ];
}
