import { rm } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "../../../contract/errors.ts";
import { makeDirectory } from "../../../files/make-directory.ts";
import { exists } from "../files/file-exists.ts";
import { succeeded } from "../machine/machine.ts";
import { removeUplinks } from "../nat/nat.ts";
import type { LabResources } from "../resources/lab-resources.ts";
import { type ForeignHolder, foreignHolder } from "../sandbox/foreign-holder.ts";
import { nodeProcesses } from "../sandbox/node-processes.ts";
import type { NodeState, Sandbox, SandboxOptions } from "../sandbox/sandbox.ts";
import { createSandbox, openSandbox } from "../sandbox/sandbox-client.ts";

/** What works on a sandbox and goes with it. */
export interface SandboxUser {
  /** A sandbox is there. @param adopted an earlier run of the service left it */
  attach(sandbox: Sandbox, adopted: boolean): Promise<void>;
  /** A node of it did something of its own. */
  happened(): void;
  /** It is gone, or let go of. */
  detach(): void;
}

const none: ReadonlyMap<number, NodeState> = new Map();

/** The sandbox of one lab: made when it is wanted, taken over after a restart of the service, and cleaned up after when it dies. */
export class LabSandbox {
  readonly id: string;
  /** `<state>/labs/<id>`. */
  readonly directory: string;
  readonly #options: SandboxOptions;
  readonly #resources: LabResources;
  readonly #user: SandboxUser;
  #sandbox: Sandbox | null = null;
  /** In place of a sandbox: one of another release, which can only be looked at and ended. */
  #foreign: ForeignHolder | null = null;
  /** In place of a sandbox: one that did not answer when it was to be adopted. */
  #hanging: Sandbox | null = null;
  #watch: { close(): void } | null = null;
  #states: { readonly nodes: readonly NodeState[]; readonly byId: ReadonlyMap<number, NodeState> } = { nodes: [], byId: none };
  #adopted: Promise<void> | null = null;
  /** What a sandbox that died left is being removed. */
  #cleaning: Promise<unknown> = Promise.resolve();

  constructor(directory: string, options: SandboxOptions, resources: LabResources, user: SandboxUser) {
    this.id = options.lab;
    this.directory = directory;
    this.#options = options;
    this.#resources = resources;
    this.#user = user;
  }

  /** Takes over the sandbox that an earlier run of the service left; removes what a dead one left. Does so once; again where it failed. */
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
      this.#foreign = await foreignHolder(this.#options);
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
    await removeUplinks(this.directory);
    await this.#resources.remove();
  }

  /** Adopts it when it answers. */
  #waitFor(hanging: Sandbox): void {
    this.#hanging = hanging;
    void hanging.recovered().then(() => {
      // It was destroyed or let go of meanwhile.
      if (this.#hanging !== hanging) return;
      this.#hanging = null;
      this.#adopted = null;
      // Whoever uses the lab next is told of a failure.
      this.adopt().then(
        () => this.#user.happened(),
        () => undefined,
      );
    });
  }

  /** Nodes of a start that was cut off before their boot: it never comes, and nothing of them is wired or written down for certain. */
  async #endUnreleased(): Promise<void> {
    const nodes = (await this.#sandbox?.info())?.nodes ?? [];
    const waiting = nodes.filter(({ state }) => state === "waiting").map(({ id }) => id);
    if (waiting.length > 0) await this.kill(waiting);
  }

  /** The one that is there now. */
  get sandbox(): Sandbox | null {
    return this.#sandbox;
  }

  /** What a change is refused with while the lab's holder does not answer; undefined while it does. */
  hanging(): Failure | undefined {
    return (this.#hanging ?? this.#sandbox)?.hanging();
  }

  /** Whether something of the lab lives. */
  get stands(): boolean {
    return this.#sandbox !== null || this.#foreign !== null || this.#hanging !== null;
  }

  /** Whether the lab is in the hands of another release's holder. */
  get isForeign(): boolean {
    return this.#foreign !== null;
  }

  /** The one that is there now. Throws host_error where another release's holder stands in its place. */
  changeable(): Sandbox | null {
    if (this.#foreign !== null) throw this.#foreign.refusal();
    const hanging = this.hanging();
    if (hanging !== undefined) throw hanging;
    return this.#sandbox;
  }

  /** Throws host_error where another release's holder keeps the lab from being changed or used; all that runs of it may be stopped. */
  async refuseForeign(stopping: readonly number[] = []): Promise<void> {
    if (this.#foreign === null) return;
    const states = await this.states();
    if (this.#foreign === null) return;
    // Nothing runs in it any more, or it is about to end by itself: nothing is lost with it.
    if (states.size === 0) return this.endForeign();
    if (stopping.length === 0 || [...states.keys()].some((id) => !stopping.includes(id))) throw this.#foreign.refusal();
  }

  /** Ends another release's holder, and all of the lab with it. */
  async endForeign(): Promise<void> {
    await this.#foreign?.end();
    this.#foreign = null;
    this.#cleaning = this.#clean();
    await this.#cleaning;
  }

  /** Adopted, and clean of what one that died left. */
  async settled(): Promise<void> {
    await this.adopt();
    await this.#cleaning;
  }

  /** The nodes that its holder knows, the same object again while they are told as before; none where there is no sandbox. */
  async states(): Promise<ReadonlyMap<number, NodeState>> {
    await this.settled();
    if (this.#foreign !== null) {
      const nodes = await this.#foreign.nodes();
      if (nodes !== null) return nodes;
      await this.endForeign();
    }
    for (let patience = 40; ; patience--) {
      const sandbox = this.#sandbox ?? this.#hanging;
      if (sandbox === null) return none;
      try {
        const { nodes } = await sandbox.info();
        if (this.#states.nodes !== nodes) this.#states = { nodes, byId: new Map(nodes.map((state) => [state.id, state])) };
        return this.#states.byId;
      } catch (error) {
        // Killed since we looked, and the watcher does not know yet. A process takes a moment to end, in which it neither answers nor is gone.
        if (!(await sandbox.alive())) {
          await sandbox.recovered();
          await this.#lost(sandbox);
        } else if (patience === 0 || (error instanceof Failure && error.code === "host_timeout")) throw error;
        else await delay(50);
      }
    }
  }

  /** The same; of a lab whose holder does not answer, the nodes that run, by the process table. */
  async seenStates(): Promise<ReadonlyMap<number, NodeState>> {
    try {
      return await this.states();
    } catch (error) {
      const pid = (this.#hanging ?? this.#sandbox)?.pid;
      if (pid === undefined || this.hanging() === undefined) throw error;
      return nodeProcesses(this.id, pid);
    }
  }

  /** The sandbox, made where there is none. @param nodes how many the lab has */
  async ensure(nodes: number): Promise<Sandbox> {
    this.changeable();
    // One that dies meanwhile is cleaned up after first, or the cleaning would take the new one's files.
    await this.#cleaning;
    if (this.#sandbox !== null) return this.#sandbox;
    // What a sandbox that died left behind.
    await removeUplinks(this.directory);
    await makeDirectory(this.#options.dir, 0o700);
    const share = await this.#resources.prepare(nodes);
    const sandbox = await createSandbox({ ...this.#options, ...share }).catch(async (error: unknown) => {
      // The launcher may have been killed after its work was done: then the lab lives.
      const found = await openSandbox(this.#options);
      if (found === null) throw error;
      return found;
    });
    await this.#take(sandbox, false);
    try {
      // Fabric ports carry frames and never speak themselves: no neighbour discovery of theirs may reach a node. Forwarding would be
      // inherited from the machine.
      const quiet =
        "for which in all default; do echo 1 > /proc/sys/net/ipv6/conf/$which/disable_ipv6; done; echo 0 > /proc/sys/net/ipv4/ip_forward";
      succeeded(["sh", "-c", quiet], await sandbox.run(["sh", "-c", quiet]));
    } catch (error) {
      await this.destroy();
      throw error;
    }
    return sandbox;
  }

  /** Ends these nodes at once. */
  async kill(ids: readonly number[]): Promise<void> {
    await this.#sandbox?.stop(ids, "kill", 0);
  }

  /** Ends everything that lives of the lab; its directory of files is left. */
  async destroy(): Promise<void> {
    await this.settled();
    await this.#foreign?.end();
    this.#foreign = null;
    const hanging = this.#hanging;
    this.#hanging = null;
    await hanging?.destroy();
    await this.#sandbox?.destroy();
    this.release();
    this.#sandbox = null;
    // Its end may have been seen meanwhile, and the cleaning up after it would take the files of a lab that is made anew.
    await this.#cleaning;
    await removeUplinks(this.directory);
    await this.#resources.remove();
    await rm(this.#options.dir, { recursive: true, force: true });
  }

  /** Lets go of a sandbox that goes on living. */
  release(): void {
    this.#hanging = null;
    this.#watch?.close();
    this.#watch = null;
    this.#user.detach();
  }

  async #take(sandbox: Sandbox, adopted: boolean): Promise<void> {
    this.#watch?.close(); // of an adoption that failed half way
    this.#sandbox = sandbox;
    if (adopted) await this.#resources.adopt(sandbox.pid);
    await this.#user.attach(sandbox, adopted);
    this.#watch = await sandbox.watch((change) => {
      if (change === "gone") void this.#lost(sandbox);
      else this.#user.happened();
    });
  }

  async #clean(): Promise<unknown> {
    const files = rm(this.#options.dir, { recursive: true, force: true });
    return Promise.all([removeUplinks(this.directory), this.#resources.remove(), files]).catch(() => undefined);
  }

  /** The sandbox died; what of the lab was outside it is removed, tried again at the next start or adoption where that fails. */
  #lost(sandbox: Sandbox): Promise<unknown> {
    if (this.#sandbox === sandbox) {
      this.#sandbox = null;
      this.release();
      this.#cleaning = this.#clean();
    }
    return this.#cleaning;
  }
}
