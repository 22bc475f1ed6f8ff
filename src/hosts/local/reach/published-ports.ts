import type { Duplex } from "node:stream";
import { Failure } from "../../../contract/errors.ts";
import { type PublishedPort, portText, publishedPort } from "../../../intent/lab/published-port.ts";
import type { PortProblem, PortsToCheck, ValueProblem } from "../../host.ts";
import { Counter, loopbackAddresses, type MachinePort } from "./machine-port.ts";
import { openTcpPort } from "./tcp-port.ts";
import { openUdpPort } from "./udp-port.ts";

/** Maximum TCP connections and sessions of UDP of all ports: each has descriptors here. */
const maxOpen = { connections: 1_024, sessions: 512 };
/** Maximum ports of an owner's labs, and of all labs. Each has two descriptors. */
const maxPorts = { owner: 256, all: 1_024 };

const none: ReadonlyMap<number, readonly string[]> = new Map();

/** Time between two tries to open missing ports, ms. */
const retryMs = 5_000;

/** The code of the error for a port of tunnels. */
const tunnelCode = "TUNNEL";

/** A running node with its declared ports. */
export interface PublishingNode {
  readonly id: number;
  readonly name: string;
  /** As portText writes them. */
  readonly ports: readonly string[];
}

export interface PublishingLab {
  readonly id: string;
  readonly owner: string;
}

/**
 * Connects with the port of a node: to a UDP port with a stream as udp-port.ts needs. Throws node_not_running, and host_error with the reason if nothing
 * listens there.
 */
export type ConnectNode = (node: number, port: PublishedPort) => Promise<Duplex>;

/** A port that could not be opened, and is tried again. */
interface MissingPort {
  readonly node: PublishingNode;
  readonly port: PublishedPort;
  readonly connect: ConnectNode;
  reason: string;
}

type BindError = NodeJS.ErrnoException & { readonly address: string };

/** The missing ports of a lab, by node and port. */
interface Missing {
  readonly lab: PublishingLab;
  readonly ports: Map<string, MissingPort>;
  timer?: NodeJS.Timeout;
}

interface OpenPort extends PublishedPort, MachinePort {
  readonly lab: PublishingLab;
  readonly node: string;
}

/**
 * The ports of the machine that lead to nodes, of all labs. They are open while their node runs and the service runs. The service takes the connections, and
 * the lab's holder connects inside the node: no address of the node need be known to the machine, and the node gets no way to the machine.
 */
export class PublishedPorts {
  /** By lab, then by node and port: "3 8080:80". */
  readonly #open = new Map<string, Map<string, OpenPort>>();
  readonly #missing = new Map<string, Missing>();
  /** Labs whose missing ports are being opened now. */
  readonly #retries = new Map<string, Promise<void>>();
  readonly #connections = new Counter(maxOpen.connections);
  readonly #sessions = new Counter(maxOpen.sessions);
  /** Ends when all checks that were asked for have ended. */
  #checks: Promise<unknown> = Promise.resolve();
  readonly #tunnelPorts: readonly number[];

  /** @param tunnelPorts the UDP ports of the machine's tunnels, which nodes do not publish: the kernel opens them when the first tunnel begins */
  constructor(tunnelPorts: readonly number[] = []) {
    this.#tunnelPorts = tunnelPorts;
  }

  /**
   * Opens the ports of these nodes, and closes all others of the lab. Ports that cannot be opened are left out, and tried again until they are open or no longer
   * wanted. @param strict throw host_error instead, unless the port was missing before; then all that this call has opened is closed again
   */
  async set(lab: PublishingLab, nodes: readonly PublishingNode[], connect: ConnectNode, strict: boolean): Promise<void> {
    const before = await this.#endRetries(lab.id);
    const wanted: ReadonlyMap<string, { readonly node: PublishingNode; readonly text: string }> = new Map(
      nodes.flatMap((node) => node.ports.map((text) => [`${node.id} ${text}`, { node, text }] as const)),
    );
    const open = this.#open.get(lab.id) ?? new Map<string, OpenPort>();
    for (const [key, port] of open) {
      if (wanted.has(key)) continue;
      open.delete(key);
      port.close();
    }
    this.#open.set(lab.id, open);
    const made: string[] = [];
    const missing = new Map<string, MissingPort>();
    try {
      if (strict) this.#refuseMany(lab, wanted.size - open.size);
      for (const [key, { node, text }] of wanted) {
        const port = publishedPort(text);
        if (port === undefined || open.has(key)) continue;
        try {
          open.set(key, await this.#openPort(lab, { node, port, connect }));
          made.push(key);
        } catch (error) {
          if (strict && !before.has(key)) throw error;
          missing.set(key, { node, port, connect, reason: (error as Error).message });
        }
      }
      if (missing.size > 0) this.#retryLater({ lab, ports: missing });
    } catch (error) {
      for (const key of made) {
        const port = open.get(key);
        open.delete(key);
        port?.close();
      }
      throw error;
    } finally {
      if (open.size === 0) this.#open.delete(lab.id);
    }
  }

  /** Returns why ports of these nodes cannot be opened now. Those that the lab has open are left out. Each other port is opened for an instant. */
  async check(lab: PublishingLab, nodes: readonly PortsToCheck[]): Promise<readonly PortProblem[]> {
    const own = new Set([...(this.#open.get(lab.id)?.values() ?? [])].map(placeOf));
    const fresh = nodes.flatMap(({ key, name, ports }) =>
      ports.flatMap((text) => {
        const port = publishedPort(text);
        return port === undefined || own.has(placeOf(port)) ? [] : [{ key, name, text, port }];
      }),
    );
    const [first] = fresh;
    if (first === undefined) return [];
    const many = this.#tooMany(lab, fresh.length);
    if (many !== undefined) return [{ key: first.key, port: first.text, problem: many, hint: "publish fewer ports, or stop other labs" }];
    const found: PortProblem[] = [];
    const checking = this.#checks.then(async () => {
      for (const { key, name, text, port } of fresh) {
        try {
          (await this.#bind(port, () => Promise.reject(new Error("the port is only checked")))).close();
        } catch (error) {
          found.push({ key, port: text, ...this.#problem(error as BindError, lab, name, port) });
        }
      }
    });
    this.#checks = checking.catch(() => undefined);
    await checking;
    return found;
  }

  /** Returns node → why its declared ports that are closed could not be opened. */
  missing(lab: string): ReadonlyMap<number, readonly string[]> {
    const missing = this.#missing.get(lab);
    if (missing === undefined) return none;
    const reasons = new Map<number, string[]>();
    for (const { node, reason } of missing.ports.values()) reasons.set(node.id, [...(reasons.get(node.id) ?? []), reason]);
    return reasons;
  }

  /** Closes all ports of the lab. */
  close(lab: string): void {
    clearTimeout(this.#missing.get(lab)?.timer);
    this.#missing.delete(lab);
    for (const port of this.#open.get(lab)?.values() ?? []) port.close();
    this.#open.delete(lab);
  }

  /** Returns the ports that were missing. */
  async #endRetries(lab: string): Promise<ReadonlyMap<string, MissingPort>> {
    const missing = this.#missing.get(lab);
    clearTimeout(missing?.timer);
    this.#missing.delete(lab);
    // A retry that runs now closes the port that it opens. Until then, the caller could not open the same port.
    await this.#retries.get(lab);
    return missing?.ports ?? new Map();
  }

  #retryLater(missing: Missing): void {
    const { id } = missing.lab;
    this.#missing.set(id, missing);
    missing.timer = setTimeout(() => {
      const retry = this.#retry(missing).finally(() => this.#retries.delete(id));
      this.#retries.set(id, retry);
    }, retryMs).unref();
  }

  async #retry(missing: Missing): Promise<void> {
    const { lab, ports } = missing;
    for (const [key, one] of ports) {
      try {
        const port = await this.#openPort(lab, one);
        if (this.#missing.get(lab.id) !== missing) return port.close();
        const open = this.#open.get(lab.id) ?? new Map<string, OpenPort>();
        this.#open.set(lab.id, open.set(key, port));
        ports.delete(key);
      } catch (error) {
        one.reason = (error as Error).message;
      }
    }
    if (this.#missing.get(lab.id) !== missing) return;
    if (ports.size > 0) this.#retryLater(missing);
    else this.#missing.delete(lab.id);
  }

  /** Throws host_error if it cannot be opened. */
  async #openPort(lab: PublishingLab, { node, port, connect }: Pick<MissingPort, "node" | "port" | "connect">): Promise<OpenPort> {
    this.#refuseMany(lab, 1);
    return this.#listen(lab, node, port, (one) => connect(node.id, one));
  }

  async #listen(
    lab: PublishingLab,
    node: PublishingNode,
    port: PublishedPort,
    connect: (port: PublishedPort) => Promise<Duplex>,
  ): Promise<OpenPort> {
    // A check of the same port would have it open.
    await this.#checks;
    try {
      const { close } = await this.#bind(port, () => connect(port));
      return { ...port, lab, node: node.name, close };
    } catch (error) {
      const { problem, hint } = this.#problem(error as BindError, lab, node.name, port);
      const message = `${problem}: ${hint}`;
      throw new Failure("host_error", message, { data: { host: { code: "port_unavailable", message } } });
    }
  }

  async #bind({ address, port, protocol }: PublishedPort, connect: () => Promise<Duplex>): Promise<MachinePort> {
    const addresses = address === undefined ? loopbackAddresses : [address];
    if (protocol === "udp" && this.#tunnelPorts.includes(port))
      throw Object.assign(new Error("the port of tunnels"), { code: tunnelCode, address: addresses[0] });
    return protocol === "udp"
      ? openUdpPort(addresses, port, connect, this.#sessions)
      : openTcpPort(addresses, port, connect, this.#connections);
  }

  /** Throws host_error for more ports than an owner, or all, may have. */
  #refuseMany(lab: PublishingLab, more: number): void {
    const message = more <= 0 ? undefined : this.#tooMany(lab, more);
    if (message !== undefined) throw new Failure("host_error", message, { data: { host: { code: "too_many_ports", message } } });
  }

  /** Returns the problem of more ports than an owner, or all, may have. */
  #tooMany({ owner }: PublishingLab, more: number): string | undefined {
    const open = [...this.#open.values()].flatMap((ports) => [...ports.values()]);
    const own = open.filter((port) => port.lab.owner === owner).length;
    const most = own + more > maxPorts.owner ? maxPorts.owner : open.length + more > maxPorts.all ? maxPorts.all : undefined;
    if (most === undefined) return undefined;
    const whose = most === maxPorts.owner ? `the labs of ${owner}` : "all labs of this service";
    return `${whose} publish at most ${most} ports together: ${most === maxPorts.owner ? own : open.length} are open, and ${more} more are wanted`;
  }

  #problem(error: BindError, lab: PublishingLab, node: string, port: PublishedPort): ValueProblem {
    const { address } = error;
    const isUdp = port.protocol === "udp";
    const whose = `${isUdp ? "UDP " : ""}port ${port.port} of ${address}, which node ${node} publishes (${portText(port)})`;
    if (error.code === "EADDRINUSE") {
      const hint = `choose another port; ss -${isUdp ? "lunp" : "ltnp"} shows which program listens`;
      return { problem: `${whose} is used ${this.#userOf(port, lab)}`, hint };
    }
    if (error.code === tunnelCode)
      return { problem: `${whose} is that of the links between machines (VXLAN)`, hint: "choose another port" };
    if (error.code === "EADDRNOTAVAIL") {
      const hint = "choose one that ip address shows, or leave the address out for 127.0.0.1 and ::1";
      return { problem: `${whose} cannot be opened, because the machine has no such address`, hint };
    }
    if (error.code === "EACCES")
      return {
        problem: `${whose} cannot be opened, because the service's user may not open ports below 1024`,
        hint: "choose a port from 1024",
      };
    return { problem: `${whose} cannot be opened (${error.message})`, hint: "choose another port" };
  }

  #userOf(wanted: PublishedPort, own: PublishingLab): string {
    for (const ports of this.#open.values())
      for (const { port, protocol, lab, node } of ports.values()) {
        if (port === wanted.port && protocol === wanted.protocol)
          return lab.id === own.id ? `by node ${node} of this lab` : "by another lab";
      }
    return "by another program";
  }
}

/** Returns the place of the port on the machine. */
function placeOf({ address = "", port, protocol }: PublishedPort): string {
  return `${protocol ?? "tcp"} ${address} ${port}`;
}
