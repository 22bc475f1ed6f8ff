import { Failure } from "../../../contract/errors.ts";
import type { Sandbox, SpawnedNode } from "../sandbox/sandbox.ts";
import { Batcher } from "../sync/batcher.ts";
import { carryOut } from "./carry-out.ts";
import type { Fabric, Port, WantedFabric, WantedPort } from "./fabric.ts";
import { fabricChange } from "./fabric-change.ts";

/**
 * Makes the ports of some nodes while others are still being spawned: the kernel makes ports under one lock, which spawning mostly does not need. It leaves
 * out the other ends of networks and the links that go through the shaper; the reconcile that follows makes these, and everything that failed here.
 */
export class EarlyWiring {
  readonly #sandbox: Sandbox;
  readonly #program: string;
  readonly #onWired: (ids: readonly number[]) => void;
  /** Nodes whose ports exist, and of which at least one does not redirect yet. */
  readonly #incomplete = new Set<number>();
  /** Ports that do not exist yet, by node. */
  readonly #unmade = new Map<number, [name: string, WantedPort][]>();
  readonly #bridges: ReadonlySet<string>;
  /** The bridges and ports that exist. */
  readonly #known: { bridges: ReadonlySet<string>; readonly ports: Map<string, Port> };
  /** Ports that exist, and whose redirect's target does not exist yet. */
  readonly #waiting = new Map<string, WantedPort>();
  readonly #spawned = new Batcher<SpawnedNode>((nodes) => this.#tryToMake(nodes), minBatch);
  #failed = false;

  /**
   * @param actual the fabric before the spawn, without ports of these nodes
   * @param wanted the ports that these nodes are to have; the pids in it are ignored
   * @param program path of labwright-shaper
   * @param onWired called with nodes whose ports all exist and redirect
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
    this.#known = { bridges: actual.bridges, ports: new Map(actual.ports) };
    for (const [name, port] of wanted.ports) {
      if (port.node === undefined) continue;
      const ports = this.#unmade.get(port.node);
      if (ports === undefined) this.#unmade.set(port.node, [[name, port]]);
      else ports.push([name, port]);
    }
  }

  /** Adds a node that was just spawned. */
  add(node: SpawnedNode): void {
    this.#spawned.add([node]);
  }

  /** Waits until all added nodes are wired. Returns the fabric; `undefined` if a step failed, so that the fabric must be read. */
  async done(): Promise<Fabric | undefined> {
    await this.#spawned.done();
    return this.#failed ? undefined : this.#known;
  }

  async #tryToMake(nodes: readonly SpawnedNode[]): Promise<void> {
    if (this.#failed) return;
    try {
      await this.#make(nodes);
    } catch (error) {
      // Most likely a node died meanwhile: the reconcile that follows reads the fabric.
      if (!(error instanceof Failure)) throw error;
      this.#failed = true;
    }
  }

  async #make(nodes: readonly SpawnedNode[]): Promise<void> {
    const { ports } = this.#known;
    const fresh = new Map<string, WantedPort>();
    for (const { id, pid } of nodes) {
      for (const [name, port] of this.#unmade.get(id) ?? [])
        fresh.set(name, "pid" in port.far ? { ...port, far: { ...port.far, pid } } : port);
    }
    const exists = (name: string | undefined) => name === undefined || fresh.has(name) || ports.has(name);
    const actual = new Map<string, Port>();
    const wanted = new Map<string, WantedPort>();
    for (const [name, port] of this.#waiting) {
      if (!exists(port.redirect)) continue;
      actual.set(name, withoutRedirect(port));
      wanted.set(name, port);
      this.#waiting.delete(name);
    }
    for (const [name, port] of fresh) {
      if (exists(port.redirect)) wanted.set(name, port);
      else {
        wanted.set(name, withoutRedirect(port));
        this.#waiting.set(name, port);
      }
    }
    const change = fabricChange(
      { bridges: this.#known.bridges, ports: actual },
      { bridges: this.#bridges, ports: wanted, shaped: new Map() },
      new Set(),
    );
    await carryOut(this.#sandbox, this.#program, change);
    this.#known.bridges = new Set([...this.#known.bridges, ...this.#bridges]);
    for (const [name, { up, mtu, master, redirect }] of wanted) {
      ports.set(name, { up, mtu, ...(master === undefined ? {} : { master }), ...(redirect === undefined ? {} : { redirect }) });
    }
    this.#reportWired(nodes);
  }

  #reportWired(nodes: readonly SpawnedNode[]): void {
    for (const { id } of nodes) this.#incomplete.add(id);
    const waiting = new Set([...this.#waiting.values()].map(({ node }) => node));
    const wired = [...this.#incomplete].filter((id) => !waiting.has(id));
    for (const id of wired) this.#incomplete.delete(id);
    if (wired.length > 0) this.#onWired(wired);
  }
}

function withoutRedirect({ redirect: _, ...port }: WantedPort): WantedPort {
  return port;
}

/** A batch costs two processes, however many nodes are in it. */
const minBatch = 32;
