import { chownSync, mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "../../../contract/errors.ts";
import { type Identity, lives, parseIdentity, readIfThere } from "../holder/identity.ts";
import { Pulse, patienceMs } from "../holder/pulse.ts";
import { type Fields, openRequest, openRequestOn, type RequestOptions, request } from "../holder/request.ts";
import { SocketStream } from "../holder/socket-stream.ts";
import { type Frame, list, protocolVersion, texts } from "../holder/wire.ts";
import { type RunResult, runOnMachine } from "../machine/machine.ts";
import type { NodeSpawn, NodeState, Sandbox, SandboxOptions, SpawnedNode } from "./sandbox.ts";

/**
 * Starts a lab's sandbox. Throws host_error with the holder's message, for example if a lab already runs in this directory, the kernel refuses
 * namespaces, or the binary is missing.
 */
export async function createSandbox(options: SandboxOptions): Promise<Sandbox> {
  const range = options.idMap === undefined ? [] : [`uid-base=${options.idMap.base}`, `uid-count=${options.idMap.count}`];
  const { ownRange } = options;
  const own = ownRange === undefined ? [] : [`ranges=${ownRange.locks}`, ...ownRange.files.map((directory) => `files=${directory}`)];
  const processes = options.processes === undefined ? [] : [`processes=${options.processes}`];
  const share = [...processes, ...(options.cgroups ?? []).map((directory) => `cgroup=${directory}`)];
  const text = await launch(options.holder, [`lab=${options.lab}`, `dir=${options.dir}`, ...range, ...own, ...share]);
  const identity = parseIdentity(text);
  if (identity === null) throw new Failure("host_error", `the holder answered ${JSON.stringify(text)}`);
  if (identity.shared !== undefined) options.onSharedRange?.(identity.shared);
  return sandbox(options, identity);
}

/**
 * Returns the running sandbox in this directory, which an earlier run of the service has started. Also returns a sandbox that hangs. Returns `null`
 * if there is none, after removing the remains of a dead one. Throws host_error if it belongs to another lab or has another protocol.
 */
export async function openSandbox(options: SandboxOptions): Promise<Sandbox | null> {
  const identity = parseIdentity(await readIfThere(join(options.dir, "holder.json")));
  if (identity === null || !(await lives(identity))) {
    await forget(options.dir);
    return null;
  }
  const differs = (what: string) => new Failure("host_error", `in ${options.dir} lives ${what}, not lab ${options.lab}`);
  const argv = (await readIfThere(`/proc/${identity.pid}/cmdline`)).split("\0");
  if (identity.lab !== options.lab || !argv.includes(`lab=${options.lab}`)) throw differs(`lab ${identity.lab}`);
  if (identity.version !== protocolVersion)
    throw new Failure(
      "host_error",
      `the lab's holder speaks protocol ${identity.version}, this service ${protocolVersion}: use the release that started the lab, or end it ` +
        `with kill ${identity.pid} (its nodes stop, their disks stay) and start it again`,
    );
  const found = sandbox(options, identity);
  const lab = await labOf(found);
  if (lab !== undefined && lab !== options.lab) throw differs(`the holder of lab ${lab}`);
  return found;
}

/**
 * The start of the service waits this long for a holder, ms, so that one hanging holder does not delay other labs. A slow holder is adopted when it
 * answers.
 */
const adoptionMs = 2_000;

/** Returns the lab of the sandbox, `undefined` if the holder hangs. */
async function labOf(found: Sandbox): Promise<string | undefined> {
  try {
    return (await found.info([], adoptionMs)).lab;
  } catch (error) {
    if (found.hanging() !== undefined) return undefined;
    throw error;
  }
}

async function launch(holder: string, argv: readonly string[]): Promise<string> {
  const refused = (words: string, cause?: unknown) =>
    new Failure("host_error", `the lab's sandbox did not start: ${words}`, { data: { host: words }, cause });
  const { code, stdout, stderr } = await runOnMachine([holder, ...argv]).catch((error: Error) => {
    throw error instanceof Failure ? error : refused(error.message, error);
  });
  if (code === 0) return stdout;
  if (code === 2 && stderr.startsWith("usage:")) {
    throw refused(`the lab holder at ${holder} is of another release of Labwright: run labwright setup, which rebuilds it`);
  }
  throw refused(code === 127 ? `there is no lab holder at ${holder}: labwright setup makes it` : stderr.trim());
}

async function forget(dir: string): Promise<void> {
  await Promise.all(["holder.json", "holder.sock"].map((name) => rm(join(dir, name), { force: true })));
}

function sandbox(options: SandboxOptions, identity: Identity): Sandbox {
  const path = join(options.dir, "holder.sock");
  const openStream = async (command: string, fields: Fields): Promise<Duplex> => {
    const { socket, reader } = await pulse.during((signal) => openRequest(path, command, fields, { signal }));
    const rest = reader.rest();
    if (rest.length > 0) socket.unshift(rest);
    return socket;
  };
  const pulse = new Pulse(identity, (deadline) => request(path, "info", [], deadline));
  const ask = (command: string, fields: Fields, { signal: given, ...more }: RequestOptions = {}) =>
    pulse.during((signal) => request(path, command, fields, { ...more, signal }), given);
  const states = new NodeStates();

  const limit: Sandbox["limit"] = async (nodes) => {
    const refused: string[] = [];
    const onFrame = (frame: Frame) => {
      const [id, , problem = ""] = texts(frame);
      refused.push(`node ${id}: ${problem}`);
    };
    await ask(
      "limits",
      nodes.flatMap(({ id, entries }) => [id, ...list(entries.flat(), 3)]),
      { onFrame },
    );
    if (refused.length === 0) return;
    const words = refused.slice(0, maxListed).join("; ");
    throw new Failure("host_error", `the machine refused limits of ${refused.length} nodes: ${words}`, { data: { host: words } });
  };

  return {
    pid: identity.pid,

    alive: () => lives(identity),
    hanging: () => pulse.hanging(),
    recovered: () => pulse.recovered(),

    async info(ids = [], deadlineMs = patienceMs) {
      const frames: Frame[] = [];
      const options = { onFrame: (frame: Frame) => frames.push(frame), deadlineMs };
      const result = await pulse.inTime(() => request(path, "info", ids.length === 0 ? [] : list(ids), options));
      const [version, lab = ""] = texts(result);
      return { lab, version: Number(version), nodes: ids.length === 0 ? states.read(frames) : frames.map(nodeState) };
    },

    async spawn(nodes, onSpawned) {
      const spawned: SpawnedNode[] = [];
      const failed: { id: number; problem: string }[] = [];
      const onFrame = (frame: Frame) => {
        const [id, pid, problem = ""] = texts(frame);
        const node = { id: Number(id), pid: Number(pid) };
        if (problem !== "") failed.push({ id: node.id, problem });
        else {
          spawned.push(node);
          onSpawned?.(node);
        }
      };
      const spawnSome = async (some: readonly NodeSpawn[]) => {
        makeDisks(some, options.idMap?.base);
        const limits = some.flatMap(({ id, limits: entries = [] }) => (entries.length > 0 ? [{ id, entries }] : []));
        if (limits.length > 0) await limit(limits);
        await ask("spawn", some.flatMap(spawnFields), { onFrame });
      };
      // Two chunks at a time: the next chunk begins while the last nodes of the previous one are still being spawned.
      const waiting = Array.from({ length: Math.ceil(nodes.length / spawnedAtOnce) }, (_, i) =>
        nodes.slice(i * spawnedAtOnce, (i + 1) * spawnedAtOnce),
      );
      const work = async () => {
        try {
          for (let some = waiting.shift(); some !== undefined && failed.length === 0; some = waiting.shift()) await spawnSome(some);
        } catch (error) {
          waiting.length = 0; // also stops the other worker
          throw error;
        }
      };
      const ends = await Promise.allSettled([work(), work()]);
      for (const end of ends) if (end.status === "rejected") throw end.reason;
      if (failed.length === 0) {
        const byId = new Map(spawned.map((node) => [node.id, node]));
        return nodes.flatMap(({ id }) => byId.get(id) ?? []);
      }
      // Sorted into the requested order, because the two workers end in any order.
      const order = new Map(nodes.map(({ id }, at) => [id, at]));
      failed.sort((one, other) => order.get(one.id)! - order.get(other.id)!);
      const listed = failed.slice(0, maxListed).map(({ id, problem }) => `node ${id}: ${problem}`);
      const words = [...listed, ...(failed.length > maxListed ? [`and ${failed.length - maxListed} more`] : [])].join("; ");
      const data = { host: words, failed: failed.slice(0, maxListed) };
      throw new Failure("host_error", `${failed.length} of ${nodes.length} nodes could not be made: ${words}`, { data });
    },

    limit,

    async release(ids) {
      await ask("release", list(ids));
    },

    async stop(ids, mode, graceMs) {
      await ask("stop", [mode, Math.max(0, Math.round(graceMs)), ...list(ids)]);
    },

    async freeze(ids, how) {
      await ask("freeze", [how, ...list(ids)]);
    },

    run: (argv, stdin = "", { signal, timeoutMs = signal === undefined ? maxRunMs : 0, maxOutputBytes } = {}) =>
      runProgram(ask, "run", [timeoutMs, ...list(argv), stdin], argv, signal, maxOutputBytes),

    async pipe(argv, onOutput, signal) {
      let stderr = "";
      const onFrame = ({ type, data }: Frame) => {
        if (type === "O") onOutput(data);
        else if (type === "X" && stderr.length < 4096) stderr += data.toString("utf8");
      };
      const [code] = texts(await ask("run", [0, ...list(argv), ""], { onFrame, signal }));
      return { code: Number(code), stderr };
    },

    exec: (id, argv, { stdin = "", timeoutMs = 0, signal, maxOutputBytes } = {}) =>
      runProgram(ask, "exec", [id, Math.round(timeoutMs), ...list(argv), stdin], argv, signal, maxOutputBytes),

    join: (id, argv) => openStream("join", [id, ...list(argv)]),

    async console(id) {
      const { socket, reader, result } = await pulse.during((signal) =>
        openRequestOn((address) => new SocketStream(address), path, "console", [id], { signal }),
      );
      const rest = reader.rest();
      const [recalled] = texts(result);
      // An older holder does not return the length of the scrollback. Its scrollback follows the answer directly.
      socket.recalled = recalled === undefined ? rest.length : Number(recalled);
      if (rest.length > 0) socket.unshift(rest);
      return socket;
    },

    async tail(id) {
      const parts: Buffer[] = [];
      await ask("tail", [id], { onFrame: (frame) => parts.push(frame.data) });
      return Buffer.concat(parts).toString("utf8");
    },

    async resize(id, columns, rows) {
      await ask("resize", [id, columns, rows]);
    },

    watch: (onChange) => watch(path, identity, onChange),

    async destroy() {
      let graceMs = pulse.hanging() === undefined ? 10_000 : 0;
      try {
        if (graceMs > 0 && (await lives(identity))) await request(path, "destroy", [], { deadlineMs: patienceMs });
      } catch (error) {
        // If another call is ending the holder, waits for its end. A holder that does not answer is killed.
        if (!(error instanceof Failure)) throw error;
        if (error.code === "host_timeout") graceMs = 0;
      }
      const patience = Date.now() + graceMs;
      for (let pause = 1; await lives(identity); pause = Math.min(pause * 2, 20)) {
        if (Date.now() >= patience) kill(identity.pid);
        await delay(pause);
      }
      await forget(options.dir);
    },
  };
}

/** Maximum duration of a program in the fabric, ms. A batch for thousands of links takes seconds; a hanging program would block all changes of the lab. */
const maxRunMs = 300_000;

/** A process that has already ended is no error. */
function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Maximum number of failed nodes in an error. The others most likely failed for the same reason. */
const maxListed = 3;

/**
 * Number of nodes in one spawn request. Small, so that the work after a node's spawn begins early, and so that the synchronous file work of a chunk
 * does not block the service.
 */
export const spawnedAtOnce = 64;

/**
 * Creates missing disks for the lab's root, because the lab may have no write access to their parent directory. Synchronous, because waiting for a
 * thread takes much longer than the calls.
 */
function makeDisks(nodes: readonly NodeSpawn[], owner: number | undefined): void {
  for (const parent of new Set(nodes.map(({ disk }) => dirname(disk)))) mkdirSync(parent, { recursive: true });
  for (const { disk } of nodes) makeDisk(disk, owner);
}

function makeDisk(disk: string, owner: number | undefined): void {
  try {
    mkdirSync(disk, { mode: 0o755 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return;
    throw error;
  }
  if (owner !== undefined) chownSync(disk, owner, owner);
}

function spawnFields(node: NodeSpawn): (string | number)[] {
  const files = node.files.flatMap(({ path, mode, text }) => [path, mode, text]);
  const main = node.main === undefined ? [] : [node.main.workdir, node.main.uid, ...node.main.gids];
  const env = Object.entries(node.env).map(([name, value]) => `${name}=${value}`);
  return [
    node.id,
    node.hostname,
    node.disk,
    ...[node.lower, files, env, node.boot, node.console, main, node.devices ?? []].flatMap((items, i) => list(items, i === 1 ? 3 : 1)),
  ];
}

/** Polls the states of all nodes. Returns the same object for an unchanged node, and the same list if nothing has changed. */
class NodeStates {
  #frames: readonly Frame[] = [];
  #nodes: readonly NodeState[] = [];

  read(frames: readonly Frame[]): readonly NodeState[] {
    const [before, known] = [this.#frames, this.#nodes];
    const nodes = frames.map((frame, at) => (before[at]?.data.equals(frame.data) === true ? known[at]! : nodeState(frame)));
    const same = nodes.length === known.length && nodes.every((node, at) => node === known[at]);
    this.#frames = frames;
    if (!same) this.#nodes = nodes;
    return this.#nodes;
  }
}

function nodeState(frame: Frame): NodeState {
  const [id, state, pid, exitCode, startedAt, problem = ""] = texts(frame);
  return {
    id: Number(id),
    state: state as NodeState["state"],
    pid: Number(pid),
    startedAt: Number(startedAt),
    ...(exitCode === "-1" ? {} : { exitCode: Number(exitCode) }),
    ...(problem === "" ? {} : { problem }),
  };
}

/** Default limit of a program's output, bytes, so that a node cannot fill the service's memory. */
const maxOutput = 64 * 1024 * 1024;

async function runProgram(
  ask: (command: string, fields: Fields, options: RequestOptions) => Promise<Frame>,
  command: string,
  fields: Fields,
  argv: readonly string[],
  signal?: AbortSignal,
  most: number = maxOutput,
): Promise<RunResult> {
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  let size = 0;
  const onFrame = ({ type, data }: Frame) => {
    size += data.length;
    // An exception here would end the connection and the program.
    if (size > most) throw new Failure("host_error", `${argv[0]} wrote more than ${most} bytes and was killed`);
    (type === "O" ? stdout : stderr).push(data);
  };
  const [code, ended] = texts(await ask(command, fields, { onFrame, signal }));
  const result = { code: Number(code), stdout: Buffer.concat(stdout).toString("utf8"), stderr: Buffer.concat(stderr).toString("utf8") };
  if (ended === "timeout") throw new Failure("host_timeout", `${argv[0]} did not end in time and was killed`, { data: { ...result } });
  return result;
}

/**
 * Watches the states. The holder disconnects a watcher that does not read. As long as the lab runs, this connects again: the first states of a
 * connection contain the changes in between.
 */
async function watch(path: string, identity: Identity, onChange: (change: NodeState | "gone") => void): Promise<{ close(): void }> {
  const known = new Map<number, string>();
  let close = (): void => {};
  let closed = false;

  const follow = async (report: boolean): Promise<void> => {
    const take = (frame: Frame, loud: boolean) => {
      const state = nodeState(frame);
      const text = JSON.stringify(state);
      if (known.get(state.id) === text) return;
      known.set(state.id, text);
      if (loud && !closed) onChange(state);
    };
    const { socket, reader } = await openRequest(path, "watch", [], { onFrame: (frame) => take(frame, report) });
    const drain = () => {
      for (let frame = reader.next(); frame !== undefined; frame = reader.next()) take(frame, true);
    };
    close = () => socket.destroy();
    if (closed) return close();
    socket.on("error", () => {}); // the following close is handled
    socket.on("close", () => void again());
    socket.on("data", (chunk: Buffer) => {
      reader.push(chunk);
      drain();
    });
    drain();
  };

  const again = async (): Promise<void> => {
    while (!closed) {
      try {
        return await follow(true);
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        // A check that fails, such as for lack of file descriptors, is repeated.
        if (!(await lives(identity).catch(() => true))) return closed ? undefined : onChange("gone");
        await delay(50);
      }
    }
  };

  await follow(false);
  return {
    close() {
      closed = true;
      close();
    },
  };
}
