import { randomInt } from "node:crypto";
import { defaultMtu, type Fabric, isShaperEnd, type Port, switchBridge, type WantedFabric, type WantedPort } from "./fabric.ts";

/** A veth uses one queue of each kind. By default the kernel first allocates one for each processor. */
const oneQueue = " numtxqueues 1 numrxqueues 1";

/** Texts for `ip -batch -` and `tc -batch -`. `carryOut` runs them in the right order. An empty text needs no process. */
export interface FabricChange {
  /** For `ip -force`: a device that is gone already, with its node's namespace, is no failure. */
  readonly remove: string;
  readonly ip: string;
  readonly tc: string;
  /** For `labwright-shaper frames`: new ports at whose other end a program reads frames as on a wire. */
  readonly frames: string;
  /** The redirects of `tc`, for `labwright-shaper redirect`, which also prepares the ports and brings them up. */
  readonly redirects: string;
  /** For `ip`, if `tc` sets the redirects: brings new ports up. `redirects` contains it too. */
  readonly up: string;
  /** For `ip`, after the redirects: takes ports out of their bridge whose frames now go through the shaper, and asks for carriers. */
  readonly late: string;
  /** Interfaces inside nodes whose MTU changes. New interfaces are made with theirs. */
  readonly mtu: readonly { readonly pid: number; readonly name: string; readonly mtu: number }[];
}

/**
 * Returns the change from the actual to the wanted fabric.
 * @param respawned nodes that were spawned since `actual` was read, or while it was: their ports in it belong to an earlier boot
 * @param group a device group that no device of the fabric has
 */
export function fabricChange(actual: Fabric, wanted: WantedFabric, respawned: ReadonlySet<number>, group = freshGroup()): FabricChange {
  const gone = new Set<string>();
  // A switch that gets VLANs, or loses them, has its ports in another place.
  const isMoved = (node: number) => actual.bridges.has(switchBridge(node)) !== wanted.bridges.has(switchBridge(node));
  for (const name of actual.ports.keys()) {
    const port = wanted.ports.get(name);
    // The shaper removes its ends itself, after it has delivered the frames in them.
    if (isShaperEnd(name)) continue;
    if (port === undefined || (port.node !== undefined && (respawned.has(port.node) || isMoved(port.node)))) gone.add(name);
  }
  for (const name of actual.bridges) if (!wanted.bridges.has(name)) gone.add(name);

  const lines = new ChangeLines(group);
  for (const name of wanted.bridges) if (!actual.bridges.has(name) || gone.has(name)) lines.addBridge(name);
  // The shaper's ends come first: frames can leave the shaper before the first frame enters it.
  const inOrder = [...wanted.ports].sort(([a], [b]) => Number(isShaperEnd(b)) - Number(isShaperEnd(a)));
  for (const [name, port] of inOrder) {
    const before = gone.has(name) ? undefined : actual.ports.get(name);
    if (before === undefined) lines.addPort(name, port);
    else lines.updatePort(name, before, port);
    // A recreated port is another device with the same name: a redirect to the old device leads nowhere.
    const isNewTarget = port.redirect !== undefined && (gone.has(port.redirect) || !actual.ports.has(port.redirect));
    if (before?.redirect !== port.redirect || isNewTarget) lines.redirect(name, before, port.redirect);
  }
  return lines.change(gone);
}

/** Collects the lines of a change. */
class ChangeLines {
  readonly #group: number;
  readonly #ip: string[] = [];
  readonly #tc: string[] = [];
  readonly #redirects: string[] = [];
  readonly #late: string[] = [];
  /** New ports in bridges, which are up. */
  readonly #bridged: string[] = [];
  readonly #frames: string[] = [];
  readonly #mtu: { pid: number; name: string; mtu: number }[] = [];
  #isGrouped = false;

  constructor(group: number) {
    this.#group = group;
  }

  addBridge(name: string): void {
    this.#ip.push(`link add name ${name} up type bridge stp_state 0 mcast_snooping 0`);
  }

  addPort(name: string, { far, up, mtu, master, redirect, isWire }: WantedPort): void {
    const options = `${mtu === defaultMtu ? "" : ` mtu ${mtu}`}${oneQueue}`;
    const isGrouped = up && master === undefined;
    const group = `${isGrouped ? ` group ${this.#group}` : ""}${"asOnWire" in far ? " gso_max_segs 1" : ""}`;
    if (isGrouped) this.#isGrouped = true;
    // The far end is the main device of the pair: it can be made and brought up in one message, in any namespace.
    if ("pid" in far) {
      this.#ip.push(
        `link add name ${far.name} address ${far.mac}${options} netns ${far.pid} up type veth peer name ${name}${options}${group}`,
      );
      if (far.asOnWire === true) this.#frames.push(name);
    } else if (far.bridge !== undefined) {
      this.#ip.push(`link add name ${far.name} master ${far.bridge}${options} up type veth peer name ${name}${options}${group}`);
    } else {
      // The kernel cuts larger segments into frames before the shaper gets them.
      this.#ip.push(`link add name ${far.name}${options} up type veth peer name ${name}${options}${group} gso_max_segs 1`);
    }
    if (master !== undefined) this.#ip.push(`link set dev ${name} master ${master}${up ? " up" : ""}`, ...(isWire ? [asWire(name)] : []));
    if (up && master !== undefined) this.#bridged.push(name);
    else if (up && "bridge" in far && far.bridge !== undefined) this.#late.push(carrierOf(far.name));
    this.#tc.push(`qdisc replace dev ${name} clsact`);
    if (isGrouped && redirect === undefined) this.#redirects.push(name);
  }

  updatePort(name: string, before: Port, { far, up, mtu, master, redirect, isWire }: WantedPort): void {
    const words: string[] = [];
    if (before.master !== master) {
      if (master !== undefined) words.push(`master ${master}`);
      else if (redirect === undefined) words.push("nomaster");
      else this.#late.push(`link set dev ${name} nomaster`);
    }
    if (before.mtu !== mtu) {
      words.push(`mtu ${mtu}`);
      if ("pid" in far) this.#mtu.push({ pid: far.pid, name: far.name, mtu });
      else this.#ip.push(`link set dev ${far.name} mtu ${mtu}`);
    }
    if (before.up !== up) words.push(up ? "up" : "down");
    if (words.length > 0) this.#ip.push(`link set dev ${name} ${words.join(" ")}`);
    if (isWire === true && before.master !== master) this.#ip.push(asWire(name));
  }

  /** @param before the port as it is, unless it is new */
  redirect(name: string, before: Port | undefined, target: string | undefined): void {
    if (target === undefined) {
      this.#tc.push(`filter del dev ${name} ingress`);
      this.#redirects.push(`${name} -`);
      return;
    }
    // An interrupted change may have left the port without a clsact qdisc.
    if (before !== undefined && before.redirect === undefined) this.#tc.push(`qdisc replace dev ${name} clsact`);
    // u32 matches everything here. Unlike matchall, every kernel with tc has it. It is replaced by its handle in one step, which loses no frame.
    this.#tc.push(
      `filter replace dev ${name} ingress protocol all prio 1 handle 800::800 u32 match u32 0 0 action mirred egress redirect dev ${target}`,
    );
    this.#redirects.push(`${name} ${target}`);
  }

  /** @param gone ports and bridges to remove */
  change(gone: ReadonlySet<string>): FabricChange {
    const group = this.#group;
    // One message brings up the whole group. One message per port would also have to look up each device's index.
    const redirects = this.#isGrouped ? [`group ${group} up`, ...this.#redirects] : this.#redirects;
    return {
      remove: removal(gone),
      ip: text([...this.#ip, ...this.#bridged.map(carrierOf)]),
      tc: text(this.#tc),
      frames: text(this.#frames),
      redirects: text(redirects),
      up: this.#isGrouped ? text([`link set group ${group} up`]) : "",
      late: text(this.#late),
      mtu: this.#mtu,
    };
  }
}

/**
 * Returns a query that makes the kernel process the device's carrier now. A bridge forwards no frames of a port before that, and by itself the kernel
 * processes about a hundred new carriers a second.
 */
function carrierOf(name: string): string {
  return `link show dev ${name}`;
}

/** Lets a port of a bridge with two ports pass every frame to the other one, also those of LLDP and LACP. The kernel allows all but pause frames. */
export function asWire(name: string): string {
  return `link set dev ${name} type bridge_slave learning off group_fwd_mask 65533`;
}

/** Deletes devices as one group: each delete message waits once for the kernel's readers (RCU), however many devices it deletes. */
function removal(names: ReadonlySet<string>): string {
  if (names.size === 0) return "";
  return text([...[...names].map((name) => `link set dev ${name} group ${removalGroup}`), `link del group ${removalGroup}`]);
}

/** A device group that is used for nothing else in a fabric. */
const removalGroup = 66;

/** Returns a new group: suspended ports may still be in the group that they were made with, by this run of the service or an earlier one. */
function freshGroup(): number {
  return randomInt(1000, 2 ** 31);
}

function text(all: readonly string[]): string {
  return all.length === 0 ? "" : `${all.join("\n")}\n`;
}
