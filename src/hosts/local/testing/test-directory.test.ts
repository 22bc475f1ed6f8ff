import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { holderProcesses } from "../holder/processes.ts";
import { runOnMachine } from "../machine/machine.ts";
import { removeUnrecordedTables } from "../nat/nat.ts";
import { endAbandonedTests, testDirectory } from "./test-directory.fixture.ts";

/** A test that has deployed a lab and still runs. It ends when its standard input ends. */
const script = `
const { labOf, testLocalHost } = await import(${JSON.stringify(new URL("test-local-host.fixture.ts", import.meta.url).href)});
const local = await testLocalHost();
const nat = (await local.session.capabilities()).features.nat;
await local.deploy("/left", labOf("{name: left, nodes: {a: {template: linux}}, networks: {n: {type: " + (nat ? "nat" : "bridge") + "}}, links: [['a:eth0', n]]}"));
console.log(JSON.stringify({ paths: local.paths, lab: (await local.session.observe("/left")).id, nat }));
process.stdin.resume().on("close", () => process.exit());
`;

interface Deployed extends AsyncDisposable {
  /** Of the test. */
  readonly base: string;
  readonly lab: string;
  /** The processes of its uplink; none if the machine has no NAT. */
  readonly tables: readonly string[];
  kill(): Promise<void>;
}

/** Starts such a test in its own process. @param within a command that runs it */
async function deployed(within: readonly string[] = [], env: Readonly<Record<string, string>> = {}): Promise<Deployed> {
  const [program = "", ...argv] = [...within, process.execPath, "--input-type=module", "-e", script];
  const child = spawn(program, argv, { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, ...env } });
  const gone = once(child, "close");
  const kill = async () => {
    child.stdin.end();
    child.kill("SIGKILL");
    await gone;
  };
  const said = await Promise.race([once(child.stdout, "data"), gone.then(() => undefined)]);
  if (said === undefined) throw new Error("the test ended");
  const { paths, lab, nat } = JSON.parse(String(said[0])) as { paths: { state: string }; lab: string; nat: boolean };
  const uplinks = nat
    ? (JSON.parse(await readFile(join(paths.state, "labs", lab, "nat.json"), "utf8")) as readonly { readonly table: string }[])
    : [];
  return {
    base: join(paths.state, ".."),
    lab,
    tables: uplinks.map(({ table }) => table),
    kill,
    async [Symbol.asyncDispose]() {
      await kill();
      // None, unless the test failed.
      if ((await holdersOf(lab)).length > 0) await endAbandonedTests();
    },
  };
}

const holdersOf = async (lab: string) => (await holderProcesses()).filter((one) => one.lab === lab && one.role === "init");
const tablesNow = async () => (await runOnMachine(["nft", "list", "tables"])).stdout;

describe.skipIf(process.getuid?.() !== 0)("of tests that were killed", () => {
  test("labs are ended with the next run, and those of a test that runs are not", async () => {
    const mine = await testDirectory("mine");
    try {
      await using left = await deployed();
      expect(await endAbandonedTests()).not.toContain(left.base);
      expect(await holdersOf(left.lab)).not.toEqual([]);
      for (const table of left.tables) expect(await tablesNow()).toContain(table);

      await left.kill();
      await endAbandonedTests();
      expect(existsSync(left.base)).toBe(false);
      expect(await holdersOf(left.lab)).toEqual([]);
      for (const table of left.tables) expect(await tablesNow()).not.toContain(table);
      expect(existsSync(mine)).toBe(true);
    } finally {
      await rm(mine, { recursive: true });
    }
  });

  test("labs whose directory is gone are ended as well, and those of a test that runs are not", async () => {
    await using left = await deployed();
    await rm(left.base, { recursive: true });
    expect(await endAbandonedTests()).not.toContain(left.base);
    expect(await holdersOf(left.lab)).not.toEqual([]);
    for (const table of left.tables) expect(await tablesNow()).toContain(table);

    await left.kill();
    await endAbandonedTests();
    expect(await holdersOf(left.lab)).toEqual([]);
    for (const table of left.tables) expect(await tablesNow()).not.toContain(table);
  });

  test("no process of another pid namespace is ended, because it is unknown whether its test runs", async () => {
    const mine = await testDirectory("mine");
    try {
      const temporary = join(mine, "tmp");
      await mkdir(temporary, { mode: 0o711 });
      // It is killed with its parent process. As the init of its pid namespace it ends all processes in it.
      await using lives = await deployed(["unshare", "--pid", "--mount-proc", "--fork", "--kill-child"], { TMPDIR: temporary });
      expect(lives.base).toContain(temporary);
      await endAbandonedTests();
      expect(await holdersOf(lives.lab)).not.toEqual([]);
      await lives.kill();
      await expect.poll(() => holdersOf(lives.lab)).toEqual([]);
      await removeUnrecordedTables(lives.lab);
    } finally {
      await rm(mine, { recursive: true });
    }
  });
});
