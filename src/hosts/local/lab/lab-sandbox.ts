import { rm } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "../../../contract/errors.ts";
import { makeDirectory } from "../../../files/make-directory.ts";
import { exists } from "../files/file-exists.ts";
import { succeeded } from "../machine/machine.ts";
import { removeManagement } from "../management/management.ts";
import { removeUplinks } from "../nat/nat.ts";
import type { LabResources } from "../resources/lab-resources.ts";
import { type IncompatibleHolder, incompatibleHolder } from "../sandbox/incompatible-holder.ts";
import { nodeProcesses } from "../sandbox/node-processes.ts";
import { type NodeState, type Sandbox, type SandboxOptions, switchingNode } from "../sandbox/sandbox.ts";
import { createSandbox, openSandbox } from "../sandbox/sandbox-client.ts";

/** Is notified of the sandbox's life. */
export interface SandboxUser {
  /** Called with a new sandbox, or with an adopted one, which an earlier run of the service left. */
  attach(sandbox: Sandbox, adopted: boolean): Promise<void>;
  /** Called when a node of the sandbox started or ended by itself. @param state absent: any node may have */
  nodeEvent(state?: NodeState): void;
  /** Called when the sandbox has ended, or is released. */
  detach(): void;
  /** Called when the machine must no longer have names of the lab's nodes. */
  removeNames(): Promise<void>;
  /** Called when the lab must no longer have tunnels. @param sandbox absent: it has ended, or does not answer */
  removeTunnels(sandbox?: Sandbox): Promise<void>;
}

const none: ReadonlyMap<number, NodeState> = new Map();

/** Manages the sandbox of one lab: creates it, adopts it after a restart of the service, and removes its remains when it dies. */
export class LabSandbox {
  readonly id: string;
  /** `<state>/labs/<id>`. */
  readonly directory: string;
  readonly #options: SandboxOptions;
  readonly #resources: LabResources;
  readonly #user: SandboxUser;
  #sandbox: Sandbox | null = null;
  /** Set instead of `#sandbox`: the holder of another release, which can only be inspected and ended. */
  #foreign: IncompatibleHolder | null = null;
  /** Set instead of `#sandbox`: a sandbox that did not answer when it should be adopted. */
  #hanging: Sandbox | null = null;
  #watch: { close(): void } | null = null;
  #states: { readonly nodes: readonly NodeState[]; readonly byId: ReadonlyMap<number, NodeState> } = { nodes: [], byId: none };
  #adopted: Promise<void> | null = null;
  /** Removes the remains of a sandbox that died. */
  #cleaning: Promise<unknown> = Promise.resolve();

  constructor(directory: string, options: SandboxOptions, resources: LabResources, user: SandboxUser) {
    this.id = options.lab;
    this.directory = directory;
    this.#options = options;
    this.#resources = resources;
    this.#user = user;
  }

  /** Adopts the sandbox that an earlier run of the service left, or removes the remains of a dead one. Works once, and again after a failure. */
  adopt(): Promise<void> {
    this.#adopted ??= this.#adopt()
      .then(() => this.#endUnreleased())
      .catch((error: unknown) => {
        this.#adopted = null;
        throw error;
      });
    return this.#adopted;
  }

  async #adopt(): Promise<void> {
    if (await exists(this.#options.dir)) {
      this.#foreign = await incompatibleHolder(this.#options);
      if (this.#foreign !== null) return;
      const found = await openSandbox(this.#options);
      if (found?.hanging() !== undefined) {
        this.#waitFor(found);
        return;
      }
      if (found !== null) {
        await this.#take(found, true);
        return;
      }
      await rm(this.#options.dir, { recursive: true, force: true });
    }
    await this.#removeUplinks();
    await this.#resources.remove();
  }

  /** Adopts the sandbox when it answers. */
  #waitFor(hanging: Sandbox): void {
    this.#hanging = hanging;
    void hanging.recovered().then(() => {
      // It was destroyed or released meanwhile.
      if (this.#hanging !== hanging) return;
      this.#hanging = null;
      this.#adopted = null;
      // The next use of the lab tries again and reports a failure.
      this.adopt().then(
        () => this.#user.nodeEvent(),
        () => undefined,
      );
    });
  }

  /** Ends nodes whose start was interrupted before their boot: it is not known whether they are wired and recorded. */
  async #endUnreleased(): Promise<void> {
    const nodes = (await this.#sandbox?.info())?.nodes ?? [];
    const waiting = nodes.filter(({ state }) => state === "waiting").map(({ id }) => id);
    if (waiting.length > 0) await this.kill(waiting);
  }

  /** Returns the sandbox; `null` if there is none. */
  get sandbox(): Sandbox | null {
    return this.#sandbox;
  }

  /** Returns the failure that refuses changes while the lab's holder does not answer; `undefined` if it answers. */
  hanging(): Failure | undefined {
    return (this.#hanging ?? this.#sandbox)?.hanging();
  }

  /** Returns whether a process of the lab runs. */
  get isAlive(): boolean {
    return this.#sandbox !== null || this.#foreign !== null || this.#hanging !== null;
  }

  /** Returns whether the lab's holder is of another release. */
  get isForeign(): boolean {
    return this.#foreign !== null;
  }

  /** Returns the sandbox; `null` if there is none. Throws host_error if the lab's holder is of another release, and host_timeout if it hangs. */
  changeable(): Sandbox | null {
    if (this.#foreign !== null) throw this.#foreign.refusal();
    const hanging = this.hanging();
    if (hanging !== undefined) throw hanging;
    return this.#sandbox;
  }

  /** Throws host_error if the lab's holder is of another release: such a lab can only be stopped as a whole. */
  async refuseForeign(stopping: readonly number[] = []): Promise<void> {
    if (this.#foreign === null) return;
    const states = await this.states();
    if (this.#foreign === null) return;
    // Nothing runs in it any more, so that nothing is lost.
    if (states.size === 0) return this.endForeign();
    if (stopping.length === 0 || [...states.keys()].some((id) => id !== switchingNode && !stopping.includes(id)))
      throw this.#foreign.refusal();
  }

  /** Ends the holder of another release, and the whole lab with it. */
  async endForeign(): Promise<void> {
    await this.#foreign?.end();
    this.#foreign = null;
    this.#cleaning = this.#clean();
    await this.#cleaning;
  }

  /** Waits until the sandbox is adopted and the remains of a dead one are removed. */
  async ready(): Promise<void> {
    await this.adopt();
    await this.#cleaning;
  }

  /** Returns the nodes that the holder reports, and the same object again while nothing has changed; no nodes if there is no sandbox. */
  async states(): Promise<ReadonlyMap<number, NodeState>> {
    await this.ready();
    if (this.#foreign !== null) {
      const nodes = await this.#foreign.nodes();
      if (nodes !== null) return nodes;
      await this.endForeign();
    }
    for (let attempts = 40; ; attempts--) {
      const sandbox = this.#sandbox ?? this.#hanging;
      if (sandbox === null) return none;
      try {
        const { nodes } = await sandbox.info();
        if (this.#states.nodes !== nodes) this.#states = { nodes, byId: new Map(nodes.map((state) => [state.id, state])) };
        return this.#states.byId;
      } catch (error) {
        // It was killed just now, and the watcher has not reported it yet. An ending process neither answers nor is gone for a moment.
        if (!(await sandbox.alive())) {
          await sandbox.recovered();
          await this.#lost(sandbox);
        } else if (attempts === 0 || (error instanceof Failure && error.code === "host_timeout")) throw error;
        else await delay(50);
      }
    }
  }

  /** Returns the same. If the lab's holder does not answer, returns the nodes whose processes run. */
  async seenStates(): Promise<ReadonlyMap<number, NodeState>> {
    try {
      return await this.states();
    } catch (error) {
      const pid = (this.#hanging ?? this.#sandbox)?.pid;
      if (pid === undefined || this.hanging() === undefined) throw error;
      return nodeProcesses(this.id, pid);
    }
  }

  /**
   * Returns the sandbox, or creates one.
   * @param nodes number of nodes of the lab
   * @param writable paths of the machine in which nodes may write: only a new sandbox gets them
   */
  async ensure(nodes: number, writable: readonly string[] = []): Promise<Sandbox> {
    this.changeable();
    // The remains of a dead sandbox are removed first, or the removal would take the new one's files.
    await this.#cleaning;
    if (this.#sandbox !== null) return this.#sandbox;
    // Uplinks of a sandbox that died.
    await this.#removeUplinks();
    await makeDirectory(this.#options.dir, 0o700);
    // One more: Open vSwitch of the lab's switches.
    const share = await this.#resources.prepare(nodes + 1);
    const sandbox = await createSandbox({ ...this.#options, ...share, writable }).catch(async (error: unknown) => {
      // The launcher may have been killed after its work was done: then the sandbox exists.
      const found = await openSandbox(this.#options);
      if (found === null) throw error;
      return found;
    });
    await this.#take(sandbox, false);
    try {
      // Fabric ports only forward frames: their own neighbour discovery must not reach a node. IP forwarding is inherited from the machine, and is
      // switched off.
      const quiet =
        "for which in all default; do echo 1 > /proc/sys/net/ipv6/conf/$which/disable_ipv6; done; echo 0 > /proc/sys/net/ipv4/ip_forward";
      succeeded(["sh", "-c", quiet], await sandbox.run(["sh", "-c", quiet]));
    } catch (error) {
      await this.destroy();
      throw error;
    }
    return sandbox;
  }

  /** Kills these nodes. */
  async kill(ids: readonly number[]): Promise<void> {
    await this.#sandbox?.stop(ids, "kill", 0);
  }

  /** Ends everything of the lab that runs. Its directory stays. */
  async destroy(): Promise<void> {
    await this.ready();
    await this.#foreign?.end();
    this.#foreign = null;
    const hanging = this.#hanging;
    this.#hanging = null;
    await hanging?.destroy();
    // First: their numbers are free at once for the next lab.
    if (this.#sandbox !== null && this.#sandbox.hanging() === undefined) await this.#user.removeTunnels(this.#sandbox);
    await this.#sandbox?.destroy();
    this.release();
    this.#sandbox = null;
    // A removal of remains may have begun, which would take the files of a recreated lab.
    await this.#cleaning;
    await this.#removeUplinks();
    await this.#resources.remove();
    await rm(this.#options.dir, { recursive: true, force: true });
  }

  /** Closes the connections to the sandbox, which goes on running. */
  release(): void {
    this.#hanging = null;
    this.#watch?.close();
    this.#watch = null;
    this.#user.detach();
  }

  async #take(sandbox: Sandbox, adopted: boolean): Promise<void> {
    this.#watch?.close(); // if an earlier adoption failed halfway
    this.#sandbox = sandbox;
    if (adopted) await this.#resources.adopt(sandbox.pid);
    await this.#user.attach(sandbox, adopted);
    this.#watch = await sandbox.watch((change) => {
      if (change === "gone") void this.#lost(sandbox);
      else this.#user.nodeEvent(change);
    });
  }

  /** Removes what the lab has in the machine's own network. */
  async #removeUplinks(): Promise<void> {
    await Promise.all([
      removeUplinks(this.directory),
      removeManagement(this.id, this.directory),
      this.#user.removeNames(),
      this.#user.removeTunnels(),
    ]);
  }

  async #clean(): Promise<unknown> {
    const files = rm(this.#options.dir, { recursive: true, force: true });
    // The next start or adoption of the lab removes remains again, and reports a failure.
    return Promise.all([this.#removeUplinks(), this.#resources.remove(), files]).catch(() => undefined);
  }

  /** Removes everything of a dead sandbox that is outside it. */
  #lost(sandbox: Sandbox): Promise<unknown> {
    if (this.#sandbox === sandbox) {
      this.#sandbox = null;
      this.release();
      this.#cleaning = this.#clean();
    }
    return this.#cleaning;
  }
}
