import { createServer, type Server } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { NodeConsole } from "./console.ts";
import type { Lab } from "./lab.ts";
import type { LabNode } from "./node.ts";
import type { Settings } from "./options.ts";
import { phpString } from "./php.ts";
import { UnixUsers } from "./unix-users.ts";

/** A running node, as a test may want to see it. */
export interface RunningNode {
  readonly lab: string;
  readonly node: number;
  readonly name: string;
  readonly tenant: number;
  readonly port: number;
  /** Interface → network, as wired when it was started. */
  readonly wires: ReadonlyMap<number, number>;
  /** The startup config that it was prepared with. */
  readonly config: string | undefined;
  /** Below /opt/unetlab/tmp: user, lab id, node number. */
  readonly directory: string;
  /** Its lab, its node or its directory is gone: nothing of EVE-NG but DELETE /status ends it. */
  readonly orphan: boolean;
}

interface Process {
  readonly key: string;
  readonly directory: string;
  readonly lab: string;
  readonly node: LabNode;
  readonly wires: Map<number, number>;
  readonly config: string | undefined;
  console: NodeConsole | undefined;
  /** Hanging in a graceful stop. */
  stopping: boolean;
  ended: boolean;
}

/** A node's directory below /opt/unetlab/tmp; it outlives the process. */
interface Directory {
  /** .lock: the node is being prepared, or a script types its config. Stays where that fails. */
  locked: boolean;
  prepared: boolean;
  configured: boolean;
  config: string | undefined;
}

/** The fault of a node's next start. */
export interface StartFault {
  /** 0: the host answers that the node has started, and its process ends at once. */
  readonly code: 0 | 11 | 12;
  /** Any node where it is absent. */
  readonly node?: number;
  /** The directory stays locked, as after disks that could not be made. */
  readonly keepLock?: boolean;
}

/**
 * The processes of a host. On Community their ports, hence their state, are named by user and node id – whatever the lab: node 1 of one lab
 * is seen as running if node 1 of another runs. Stopping a node searches for its directory, so a node whose directory is gone runs on.
 */
export class Runtime {
  readonly #settings: Settings;
  readonly #address: () => string;
  readonly #processes = new Map<string, Process>();
  readonly #directories = new Map<string, Directory>();
  readonly #stopped = new AbortController();
  readonly #background = new Set<Promise<void>>();
  readonly faults: StartFault[] = [];
  /** Ports on which something else listens: to the host, a node runs there. */
  readonly #occupied = new Map<number, Server>();
  readonly #unixUsers: UnixUsers;

  constructor(settings: Settings, address: () => string) {
    this.#settings = settings;
    this.#address = address;
    this.#unixUsers = new UnixUsers(settings.freshPods);
  }

  get #perLab(): boolean {
    return this.#settings.edition === "pro" || this.#settings.edition === "pnetlab";
  }

  #directoryOf(lab: Lab, node: LabNode): string {
    return `${lab.tenant}/${lab.id}/${node.id}`;
  }

  #keyOf(lab: Lab, node: LabNode): string {
    return this.#perLab ? this.#directoryOf(lab, node) : String(node.port);
  }

  /** 0 stopped, 1 being prepared, 2 running, 3 being configured; on Professional 4 while it shuts down. */
  status(lab: Lab, node: LabNode): number {
    const process = this.#processes.get(this.#keyOf(lab, node));
    const locked = this.#directories.get(this.#directoryOf(lab, node))?.locked ?? false;
    if (process?.stopping) return 4;
    if (process?.console !== undefined || this.#isOccupied(node)) return locked ? 3 : 2;
    return locked ? 1 : 0;
  }

  #isOccupied(node: LabNode): boolean {
    return !this.#perLab && this.#occupied.has(node.port);
  }

  /** Another program listens on the port: a process that a deleted lab left behind, or one that is not a node at all. */
  occupy(port: number): void {
    if (this.#occupied.has(port)) return;
    const server = createServer((socket) => socket.on("error", () => socket.destroy()).end("another program\r\n"));
    // A node's console that listens there already is as good.
    server.on("error", () => server.close());
    server.listen(port, this.#address());
    this.#occupied.set(port, server);
  }

  free(port: number): void {
    this.#occupied.get(port)?.close();
    this.#occupied.delete(port);
  }

  /** Leaves a node's directory locked, as a preparation does that died: status 1, or 3 while the node runs. */
  stick(lab: Lab, node: LabNode): void {
    const path = this.#directoryOf(lab, node);
    const directory = this.#directories.get(path) ?? { locked: true, prepared: false, configured: false, config: undefined };
    directory.locked = true;
    this.#directories.set(path, directory);
  }

  /** The port on which the node's console listens or, on Community, would listen. */
  port(lab: Lab, node: LabNode): number {
    return this.#perLab ? (this.#processes.get(this.#keyOf(lab, node))?.console?.port ?? 0) : node.port;
  }

  running(): readonly RunningNode[] {
    return [...this.#processes.values()]
      .filter(({ console }) => console !== undefined)
      .map(({ lab, node, console, wires, config, directory }) => ({
        lab,
        node: node.id,
        name: node.name,
        tenant: node.tenant,
        port: console?.port ?? 0,
        wires,
        config,
        directory,
        orphan: !this.#directories.has(directory),
      }));
  }

  /** The exit code of EVE-NG's wrapper: 0, 10 network missing, 11 network failed, 12 node failed, 14 no unix user. */
  async start(lab: Lab, node: LabNode): Promise<number> {
    if (!(await this.#unixUsers.make(lab.tenant))) return 14;
    const attached = [...node.ethernets.values()].map(({ networkId }) => networkId).filter((id) => id !== 0);
    if (attached.some((id) => !lab.networks.has(id))) return 10;
    if (this.#takeFault(node, 11) !== undefined) return 11;
    return this.#start(lab, node);
  }

  /** All nodes, IOL last; stops at the first that fails, and those before it run. */
  async startAll(lab: Lab): Promise<number> {
    if (!(await this.#unixUsers.make(lab.tenant))) return 14;
    if (this.#takeFault(undefined, 11) !== undefined) return 11;
    const nodes = [...lab.nodes.values()];
    for (const node of [...nodes.filter(({ type }) => type !== "iol"), ...nodes.filter(({ type }) => type === "iol")]) {
      const rc = await this.#start(lab, node);
      if (rc !== 0) return rc;
    }
    return 0;
  }

  #takeFault(node: LabNode | undefined, code: 0 | 11 | 12): StartFault | undefined {
    const index = this.faults.findIndex((fault) => fault.code === code && (fault.node === undefined || fault.node === node?.id));
    return index < 0 ? undefined : this.faults.splice(index, 1)[0];
  }

  async #start(lab: Lab, node: LabNode): Promise<number> {
    if (this.status(lab, node) !== 0) return 0;
    const { latency } = this.#settings;
    const fault = this.#takeFault(node, 12);
    const path = this.#directoryOf(lab, node);
    const directory = this.#directories.get(path) ?? { locked: false, prepared: false, configured: false, config: undefined };
    this.#directories.set(path, directory);
    if (!directory.prepared) {
      if (node.type === "qemu") {
        directory.locked = true;
        await this.#sleep(latency.prepare);
        if (fault?.keepLock) return 12;
        directory.locked = false;
      }
      if (phpString(node.config) === "1" && node.configData !== "") directory.config = node.configData;
      directory.prepared = true;
    }
    await this.#sleep(latency.start);
    // Without an image there is no command.
    if (fault !== undefined || (node.type !== "vpcs" && node.image === "")) return 12;
    await this.#end(this.#processes.get(this.#keyOf(lab, node)));
    if (this.#takeFault(node, 0) !== undefined) return 0;
    await this.#run(lab, node, path, directory);
    return 0;
  }

  async #run(lab: Lab, node: LabNode, path: string, directory: Directory): Promise<void> {
    const key = this.#keyOf(lab, node);
    const process: Process = {
      key,
      directory: path,
      lab: lab.path,
      node,
      wires: new Map([...node.ethernets].map(([id, { networkId }]) => [id, networkId])),
      config: directory.config,
      console: undefined,
      stopping: false,
      ended: false,
    };
    this.#processes.set(key, process);
    const configure = node.type === "qemu" && directory.config !== undefined && !directory.configured && phpString(node.config) !== "0";
    if (configure) directory.locked = true;
    const boot = async () => {
      await this.#sleep(this.#settings.latency.boot);
      if (process.ended) return;
      const console = await NodeConsole.open({
        name: node.name,
        type: node.type,
        startup: process.config,
        vpcs: { boot: this.#settings.latency.vpcsBoot, address: this.#settings.latency.vpcsAddress },
        port: this.#freshPort() ?? node.port,
        address: this.#address(),
        answer: (line) => this.#settings.console?.(line, { name: node.name, template: node.template }),
      });
      if (process.ended) await console.close();
      else process.console = console;
    };
    const configured = async () => {
      if (!configure) return;
      await this.#sleep(this.#settings.latency.configure);
      directory.locked = false;
      directory.configured = true;
    };
    if (this.#settings.latency.boot === 0) {
      await boot();
      this.#later(configured());
    } else this.#later(boot().then(configured));
  }

  /** Returns the console port of a node that starts: on Professional any free port, on PNETLab the next number. undefined: Community's port follows from the node. */
  #freshPort(): number | undefined {
    if (this.#settings.edition === "pnetlab") return 30_000 + ++this.#started;
    return this.#perLab ? 0 : undefined;
  }
  #started = 0;

  /** Always reports success. */
  async stop(lab: Lab, node: LabNode): Promise<void> {
    await this.#sleep(this.#settings.latency.stop);
    if (this.status(lab, node) === 0) return;
    // It looks for the directory, so that it never ends another lab's node; where the directory is gone it ends nothing.
    const process = this.#processes.get(this.#keyOf(lab, node));
    if (process?.directory !== this.#directoryOf(lab, node) || !this.#directories.has(process.directory)) return;
    if (this.#settings.latency.exit === 0) await this.#end(process);
    else this.#later(this.#sleep(this.#settings.latency.exit).then(() => this.#end(process)));
  }

  /** Professional: a node that knows nothing of ACPI hangs in it. */
  async stopGracefully(lab: Lab, node: LabNode): Promise<void> {
    await this.#sleep(this.#settings.latency.stop);
    const process = this.#processes.get(this.#keyOf(lab, node));
    if (process?.console === undefined) return;
    process.stopping = true;
    if (node.template === "linux" || node.type !== "qemu") {
      this.#later(this.#sleep(this.#settings.latency.exit).then(() => this.#end(process)));
    }
  }

  async stopAll(): Promise<void> {
    for (const process of [...this.#processes.values()]) await this.#end(process);
  }

  async wipe(lab: Lab, node: LabNode): Promise<void> {
    await this.stop(lab, node);
    await this.#sleep(this.#settings.latency.wipe);
    this.#directories.delete(this.#directoryOf(lab, node));
  }

  /** Of a node, or of the whole lab: the directories of all users. The processes stay. */
  removeDirectories(labId: string, node?: number): void {
    for (const path of [...this.#directories.keys()]) {
      const [, id, each] = path.split("/");
      if (id === labId && (node === undefined || each === String(node))) this.#directories.delete(path);
    }
  }

  /** Exports a running node's startup config. Returns 0, 16 if that failed, or 19 if it is not possible. */
  async exportConfig(lab: Lab, node: LabNode, hasScript: boolean): Promise<{ readonly rc: number; readonly config?: string }> {
    await this.#sleep(this.#settings.latency.exportConfig);
    const config = this.#directories.get(this.#directoryOf(lab, node))?.config;
    if (node.type === "docker") return { rc: 19 };
    if (node.type === "qemu") {
      if (this.status(lab, node) < 2 || !hasScript) return { rc: 19 };
      return { rc: 0, config: config ?? `hostname ${node.name}\n` };
    }
    return config === undefined ? { rc: 16 } : { rc: 0, config };
  }

  /** Professional: links of a running node change at once. */
  rewire(lab: Lab, node: LabNode): void {
    const process = this.#processes.get(this.#keyOf(lab, node));
    for (const [id, { networkId }] of node.ethernets) process?.wires.set(id, networkId);
  }

  counts(): Readonly<Record<string, number>> {
    const count = (type: string) =>
      [...this.#processes.values()].filter((each) => each.console !== undefined && each.node.type === type).length;
    return Object.fromEntries(["iol", "dynamips", "qemu", "docker", "vpcs"].map((type) => [type, count(type)]));
  }

  async #end(process: Process | undefined): Promise<void> {
    if (process === undefined || process.ended) return;
    process.ended = true;
    if (this.#processes.get(process.key) === process) this.#processes.delete(process.key);
    const { console } = process;
    process.console = undefined;
    await console?.close();
  }

  async #sleep(ms: number): Promise<void> {
    if (ms > 0) await delay(ms, undefined, { signal: this.#stopped.signal });
  }

  #later(work: Promise<void>): void {
    const watched = work.catch((error: unknown) => {
      if (!this.#stopped.signal.aborted) throw error;
    });
    this.#background.add(watched);
    void watched.finally(() => this.#background.delete(watched));
  }

  /** Ends everything, also what is still to come. */
  async close(): Promise<void> {
    this.#stopped.abort();
    await Promise.all(this.#background);
    await this.stopAll();
    for (const port of [...this.#occupied.keys()]) this.free(port);
  }
}
