import { Failure } from "../../../contract/errors.ts";
import type { Sandbox, SpawnedNode } from "../sandbox/sandbox.ts";
import { Gathering } from "../sync/gathering.ts";
import { type Fabric, fabricChange, type Port, type WantedFabric, type WantedPort } from "./fabric.ts";
import { redirectPorts } from "./redirect-ports.ts";
import { runBatch } from "./run-batch.ts";

/**
 * Makes ports of nodes while others are still being spawned: making them is the kernel's work under one lock, making nodes mostly is not. What it
 * leaves out (ports at networks' other ends, links through the shaper), or could not do, is the sync's that follows.
 */
export class EarlyWiring {
  readonly #sandbox: Sandbox;
  readonly #program: string;
  readonly #onWired: (ids: readonly number[]) => void;
  /** Nodes whose ports are there, of which some lead nowhere yet. */
  readonly #unled = new Set<number>();
  /** Ports that are still to be made, by node. */
  readonly #unmade = new Map<number, [name: string, WantedPort][]>();
  readonly #bridges: ReadonlySet<string>;
  /** What stands, as far as it is known. */
  readonly #standing: { bridges: ReadonlySet<string>; readonly ports: Map<string, Port> };
  /** Ports that stand and are to redirect to one that does not yet. */
  readonly #waiting = new Map<string, WantedPort>();
  readonly #spawned = new Gathering<SpawnedNode>((nodes) => this.#tryToMake(nodes), fewest);
  #failed = false;

  /**
   * @param actual what stands before: no port of those nodes
   * @param wanted the ports that these nodes are to have; the pids in it do not count
   * @param program labwright-shaper
   * @param onWired told of nodes as soon as all their ports are there and lead to where they should
   */
  constructor(
    sandbox: Sandbox,
    actual: Fabric,
    wanted: WantedFabric,
    program: string,
    onWired: (ids: readonly number[]) => void = () => undefined,
  ) {
    this.#sandbox = sandbox;
    this.#program = program;
    this.#onWired = onWired;
    this.#bridges = wanted.bridges;
    this.#standing = { bridges: actual.bridges, ports: new Map(actual.ports) };
    for (const [name, port] of wanted.ports) {
      if (port.node === undefined) continue;
      const ports = this.#unmade.get(port.node);
      if (ports === undefined) this.#unmade.set(port.node, [[name, port]]);
      else ports.push([name, port]);
    }
  }

  /** Goes on with this node, which is there now. */
  add(node: SpawnedNode): void {
    this.#spawned.add([node]);
  }

  /** When all of it is done: what stands now; undefined where something failed, so that it must be read. */
  async done(): Promise<Fabric | undefined> {
    await this.#spawned.done();
    return this.#failed ? undefined : this.#standing;
  }

  async #tryToMake(nodes: readonly SpawnedNode[]): Promise<void> {
    if (this.#failed) return;
    try {
      await this.#make(nodes);
    } catch (error) {
      // A node that has died meanwhile, most likely: the sync looks at what there is.
      if (!(error instanceof Failure)) throw error;
      this.#failed = true;
    }
  }

  async #make(nodes: readonly SpawnedNode[]): Promise<void> {
    const { ports } = this.#standing;
    const fresh = new Map<string, WantedPort>();
    for (const { id, pid } of nodes) {
      for (const [name, port] of this.#unmade.get(id) ?? [])
        fresh.set(name, "pid" in port.far ? { ...port, far: { ...port.far, pid } } : port);
    }
    const stands = (name: string | undefined) => name === undefined || fresh.has(name) || ports.has(name);
    const actual = new Map<string, Port>();
    const wanted = new Map<string, WantedPort>();
    for (const [name, port] of this.#waiting) {
      if (!stands(port.redirect)) continue;
      actual.set(name, unled(port));
      wanted.set(name, port);
      this.#waiting.delete(name);
    }
    for (const [name, port] of fresh) {
      if (stands(port.redirect)) wanted.set(name, port);
      else {
        wanted.set(name, unled(port));
        this.#waiting.set(name, port);
      }
    }
    const change = fabricChange(
      { bridges: this.#standing.bridges, ports: actual },
      { bridges: this.#bridges, ports: wanted, shaped: new Map() },
      new Set(),
    );
    await runBatch(this.#sandbox, ["ip", "-batch", "-"], change.ip);
    await redirectPorts(this.#sandbox, this.#program, change);
    this.#standing.bridges = new Set([...this.#standing.bridges, ...this.#bridges]);
    for (const [name, { up, mtu, master, redirect }] of wanted) {
      ports.set(name, { up, mtu, ...(master === undefined ? {} : { master }), ...(redirect === undefined ? {} : { redirect }) });
    }
    for (const { id } of nodes) this.#unled.add(id);
    const waiting = new Set([...this.#waiting.values()].map(({ node }) => node));
    const wired = [...this.#unled].filter((id) => !waiting.has(id));
    for (const id of wired) this.#unled.delete(id);
    if (wired.length > 0) this.#onWired(wired);
  }
}

/** The port as it is before its frames go anywhere. */
function unled({ redirect: _, ...port }: WantedPort): WantedPort {
  return port;
}

/** A few nodes' ports cost two processes, as those of many do. */
const fewest = 32;
