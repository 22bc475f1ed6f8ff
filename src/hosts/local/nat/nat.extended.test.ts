import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { networkBridge } from "../links/fabric.ts";
import { runOnMachine, succeeded } from "../machine/machine.ts";
import { testDirectory } from "../testing/test-directory.fixture.ts";
import { ensureUplinks, natDevice, natWorks, removeUnrecordedTables, removeUplinks } from "./nat.ts";

const works = await natWorks();

describe.skipIf(!works)("uplinks", () => {
  const policy = { allow: [], deny: [] };
  let lab: string;
  let directory: string;
  /** The lab's namespaces. */
  let init: ChildProcess;

  beforeEach(async () => {
    lab = randomUUID();
    directory = await testDirectory("nat");
    const script = `ip link add name ${networkBridge(1)} type bridge && echo ready && exec sleep infinity`;
    init = spawn("unshare", ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(init.stdout!, "data");
  });
  afterEach(async () => {
    await removeUplinks(directory);
    await removeUnrecordedTables(lab);
    const gone = once(init, "close");
    init.kill("SIGKILL");
    await gone;
  });

  const sandbox = () => {
    const pid = init.pid ?? 0;
    // Also in the pid namespace: processes that are left there end with it.
    const enter = ["nsenter", "-t", String(pid), "--net", "--mount", `--pid=/proc/${pid}/ns/pid_for_children`];
    return { pid, run: (argv: readonly string[], stdin?: string) => runOnMachine([...enter, ...argv], stdin) };
  };
  async function tables(): Promise<readonly string[]> {
    const argv = ["nft", "list", "tables"];
    const { stdout } = succeeded(argv, await runOnMachine(argv));
    return [...stdout.matchAll(/^table (\S+) (\S+)$/gm)]
      .filter(([, , name]) => name?.includes(lab.replaceAll("-", "_")))
      .map(([, family]) => family!);
  }

  test("uplinks that are made and removed at the same time exist completely or not at all", async () => {
    for (let round = 0; round < 10; round++) {
      await ensureUplinks(lab, directory, sandbox(), [1], policy);
      await Promise.all([removeUplinks(directory), ensureUplinks(lab, directory, sandbox(), [1], policy)]);
      expect((await tables()).toSorted()).toEqual(["arp", "inet"]);
      await Promise.all([ensureUplinks(lab, directory, sandbox(), [1], policy), removeUplinks(directory)]);
      expect(await tables()).toEqual([]);
      expect((await runOnMachine(["ip", "link", "show", "dev", natDevice(lab, 1)])).code).not.toBe(0);
    }
  });
});
