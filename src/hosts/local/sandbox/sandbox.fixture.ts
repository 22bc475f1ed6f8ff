import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import type { Failure } from "../../../contract/errors.ts";
import { findImages } from "../images/images.ts";
import { idRange as idMap } from "../machine/idmap.ts";
import { localPaths } from "../machine/paths.ts";
import { testDirectory } from "../testing/test-directory.fixture.ts";
import type { NodeSpawn, NodeState, Sandbox, SandboxOptions } from "./sandbox.ts";
import { createSandbox } from "./sandbox-client.ts";

const root = process.getuid?.() === 0;

/** Real sandboxes for the tests of one file; it ends them, and sees that nothing of them is left. */
export interface SandboxBench {
  /** Everything of these tests is below it. */
  readonly top: () => string;
  /** A layer for nodes. */
  readonly lower: () => string;
  /** Counts the labs. */
  readonly serial: () => number;
  readonly newLab: () => SandboxOptions;
  readonly create: (options?: SandboxOptions) => Promise<Sandbox>;
  /** Ends this one, too. */
  readonly add: (sandbox: Sandbox) => void;
  readonly node: (id: number, more?: Partial<NodeSpawn>) => NodeSpawn;
}

/** To be called once, at the top of a test file. @param name of the file's subject */
export function sandboxBench(name: string): SandboxBench {
  const mark = `sandbox-test-${name}-${process.pid}-`;
  let top = "";
  let holder = "";
  let lower = "";
  let serial = 0;
  const open = new Set<Sandbox>();

  beforeAll(async () => {
    top = await testDirectory(`sandbox-${name}`);
    const paths = localPaths(process.env, process.getuid?.() ?? 0);
    const base = (await findImages(paths.images)).find((image) => image.name === "base");
    if (base === undefined) throw new Error(`no image base in ${paths.images}: npm run setup makes it`);
    // Copies: any user may pass to them, wherever holder and images are.
    holder = join(top, "holder");
    execFileSync("cp", [paths.holder, holder]);
    lower = join(top, "base");
    execFileSync("cp", ["-a", base.rootfs, lower]);
  });

  afterEach(async () => {
    for (const sandbox of open) await sandbox.destroy();
    open.clear();
  });

  afterAll(() => {
    try {
      expect(processesOf(mark)).toEqual([]);
      expect(mountsBelow(top)).toEqual([]);
    } finally {
      rmSync(top, { recursive: true, force: true });
    }
  });

  function newLab(): SandboxOptions {
    const lab = `${mark}${++serial}`;
    const dir = join(top, lab);
    mkdirSync(dir, { mode: 0o700 });
    return { holder, dir, lab, ...(root ? { idMap } : {}) };
  }

  return {
    top: () => top,
    lower: () => lower,
    serial: () => serial,
    newLab,
    create: async (options = newLab()) => {
      const sandbox = await createSandbox(options);
      open.add(sandbox);
      return sandbox;
    },
    add: (sandbox) => open.add(sandbox),
    node: (id, more = {}) => ({
      id,
      hostname: `n${id}`,
      lower: [lower],
      disk: join(top, `disk-${serial}-${id}`),
      files: [],
      env: { PS1: "READY> " },
      boot: ["/bin/true"],
      console: ["/bin/sh"],
      ...more,
    }),
  };
}

export async function boot(
  sandbox: Sandbox,
  nodes: readonly NodeSpawn[],
): Promise<readonly { readonly id: number; readonly pid: number }[]> {
  const spawned = await sandbox.spawn(nodes);
  await sandbox.release(nodes.map(({ id }) => id));
  await until(async () => (await sandbox.info()).nodes.every(({ state }) => state !== "booting"));
  return spawned;
}

export async function stateOf(sandbox: Sandbox, id: number): Promise<NodeState | undefined> {
  return (await sandbox.info()).nodes.find((each) => each.id === id);
}

export async function until(condition: () => boolean | Promise<boolean>, limitMs = 30_000): Promise<void> {
  for (const end = Date.now() + limitMs; !(await condition()); await delay(5))
    if (Date.now() > end) throw new Error(`not within ${limitMs} ms: ${condition}`);
}

/** The output of a console so far, and a way to wait for more. */
export function reading(stream: Duplex): { readonly text: () => string; readonly until: (wanted: string) => Promise<void> } {
  let text = "";
  stream.setEncoding("latin1").on("data", (chunk: string) => {
    text += chunk;
  });
  return {
    text: () => text,
    until: (wanted) =>
      until(() => text.includes(wanted)).catch((error) =>
        Promise.reject(new Error(`${wanted} did not come, but ${text.slice(-500)}`, { cause: error })),
      ),
  };
}

export function processesOf(lab: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      const argv = readText(`/proc/${pid}/cmdline`).split("\0");
      return argv[0] === "labwright-holder" && argv[1]?.startsWith(`lab=${lab}`) ? [`${pid} ${argv.join(" ")}`] : [];
    });
}

/** Processes in any of these namespaces (texts such as net:[4026531840]). */
export function processesIn(namespaces: ReadonlySet<string>): string[] {
  return readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && namespacesOf(Number(pid)).some((ns) => namespaces.has(ns)));
}

export function namespacesOf(pid: number): string[] {
  return ["net", "pid", "mnt"].flatMap((kind) => {
    try {
      return [readlinkSync(`/proc/${pid}/ns/${kind}`)];
    } catch {
      return []; // ended just now
    }
  });
}

export function mountsBelow(dir: string): string[] {
  const tables = new Set(readdirSync("/proc").flatMap((pid) => (/^\d+$/.test(pid) ? [readText(`/proc/${pid}/mountinfo`)] : [])));
  return [...tables].flatMap((table) => table.split("\n").filter((line) => line.includes(dir)));
}

export function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // a process that ended just now
  }
}

export function childrenOf(pid: number): number[] {
  return readText(`/proc/${pid}/task/${pid}/children`).trim().split(" ").filter(Boolean).map(Number);
}

export const failure = (code: string, words: RegExp) =>
  expect.objectContaining({ code, message: expect.stringMatching(words) }) as unknown as Failure;
