import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "../../../contract/errors.ts";
import { type Identity, lives, parseIdentity, readIfThere } from "../holder/identity.ts";
import { patienceMs } from "../holder/pulse.ts";
import { openRequestOn, request } from "../holder/request.ts";
import { SocketStream } from "../holder/socket-stream.ts";
import { type Frame, list, protocolVersion, texts } from "../holder/wire.ts";
import { runOnMachine } from "../machine/machine.ts";
import { connectHolder, type HolderConnection } from "./holder-connection.ts";
import { NodeStates, nodeState } from "./node-states.ts";
import { programCalls } from "./programs.ts";
import type { Sandbox, SandboxOptions } from "./sandbox.ts";
import { limitNodes, spawnNodes } from "./spawn-nodes.ts";
import { watchStates } from "./watch-states.ts";

/**
 * Starts a lab's sandbox. Throws host_error with the holder's message, for example if a lab already runs in this directory, the kernel refuses
 * namespaces, or the binary is missing.
 */
export async function createSandbox(options: SandboxOptions): Promise<Sandbox> {
  const range = options.idMap === undefined ? [] : [`uid-base=${options.idMap.base}`, `uid-count=${options.idMap.count}`];
  const { ownRange } = options;
  const writable = (options.writable ?? []).map((path) => `bind=${path}`);
  const own =
    ownRange === undefined ? [] : [`ranges=${ownRange.locks}`, ...ownRange.files.map((directory) => `files=${directory}`), ...writable];
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
  const differs = (what: string) => new Failure("host_error", `the holder in ${options.dir} belongs to ${what}, not to lab ${options.lab}`);
  const argv = (await readIfThere(`/proc/${identity.pid}/cmdline`)).split("\0");
  if (identity.lab !== options.lab || !argv.includes(`lab=${options.lab}`)) throw differs(`lab ${identity.lab}`);
  if (identity.version !== protocolVersion)
    throw new Failure(
      "host_error",
      `the lab was started by another release of Labwright (its holder, process ${identity.pid}, speaks protocol ${identity.version}, this service ` +
        `${protocolVersion}): use that release; or end the holder with kill ${identity.pid}, which stops the nodes and keeps their disks, and start the lab again`,
    );
  const found = sandbox(options, identity);
  const lab = await labOf(found);
  if (lab !== undefined && lab !== options.lab) throw differs(`lab ${lab}`);
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
  const holder = connectHolder(join(options.dir, "holder.sock"), identity);
  const { path, pulse } = holder;
  return {
    pid: identity.pid,
    alive: () => lives(identity),
    hanging: () => pulse.hanging(),
    recovered: () => pulse.recovered(),
    info: infoOf(holder),
    ...nodeCalls(holder, options.idMap?.base),
    ...programCalls(holder),
    ...consoleCalls(holder),
    watch: (onChange) => watchStates(path, identity, onChange),
    destroy: () => endHolder(holder, options.dir),
  };
}

function infoOf({ path, pulse }: HolderConnection): Sandbox["info"] {
  const states = new NodeStates();
  return async (ids = [], deadlineMs = patienceMs) => {
    const frames: Frame[] = [];
    const options = { onFrame: (frame: Frame) => frames.push(frame), deadlineMs };
    const result = await pulse.inTime(() => request(path, "info", ids.length === 0 ? [] : list(ids), options));
    const [version, lab = ""] = texts(result);
    return { lab, version: Number(version), nodes: ids.length === 0 ? states.read(frames) : frames.map(nodeState) };
  };
}

/** @param owner the lab's root, which owns the disks of nodes */
function nodeCalls(holder: HolderConnection, owner: number | undefined): Pick<Sandbox, "spawn" | "limit" | "release" | "stop" | "freeze"> {
  const { ask } = holder;
  return {
    spawn: (nodes, onSpawned) => spawnNodes(holder, nodes, owner, onSpawned),
    limit: (nodes) => limitNodes(holder, nodes),
    async release(ids) {
      await ask("release", list(ids));
    },
    async stop(ids, mode, graceMs) {
      await ask("stop", [mode, Math.max(0, Math.round(graceMs)), ...list(ids)]);
    },
    async freeze(ids, how) {
      await ask("freeze", [how, ...list(ids)]);
    },
  };
}

function consoleCalls({ path, pulse, ask }: HolderConnection): Pick<Sandbox, "console" | "tail" | "resize"> {
  return {
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
  };
}

/** Ends the holder, and with it all nodes. Kills a holder that does not end in time. */
async function endHolder({ path, pulse, identity }: HolderConnection, dir: string): Promise<void> {
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
  await forget(dir);
}

/** A process that has already ended is not an error. */
function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
