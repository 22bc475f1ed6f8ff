import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { holderProcesses } from "./holder/processes.ts";
import { runOnMachine } from "./machine.ts";
import { endAbandonedTests, testDirectory } from "./test-directory.ts";

/** A test that deploys a lab and is still at it. */
const script = `
const { labOf, testLocalHost } = await import(${JSON.stringify(new URL("test-local-host.ts", import.meta.url).href)});
const local = await testLocalHost();
const nat = (await local.session.capabilities()).features.nat;
await local.deploy("/left", labOf("{name: left, nodes: {a: {template: linux}}, networks: {n: {type: " + (nat ? "nat" : "bridge") + "}}, links: [['a:eth0', n]]}"));
console.log(JSON.stringify({ paths: local.paths, lab: (await local.session.observe("/left")).id, nat }));
setInterval(() => undefined, 1000);
`;

test.skipIf(process.getuid?.() !== 0)(
  "labs of a test that was killed are ended with the next run, and those of a test that runs are not",
  async () => {
    const mine = await testDirectory("mine");
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "pipe", "inherit"] });
    const gone = once(child, "close");
    try {
      const [said] = (await once(child.stdout, "data")) as [Buffer];
      const { paths, lab, nat } = JSON.parse(String(said)) as { paths: { state: string }; lab: string; nat: boolean };
      const base = join(paths.state, "..");
      const holders = async () => (await holderProcesses()).filter((one) => one.lab === lab);
      const tables = async () => (await runOnMachine(["nft", "list", "tables"])).stdout;
      expect(await endAbandonedTests()).not.toContain(base);
      expect(await holders()).not.toEqual([]);
      const uplinks = nat
        ? (JSON.parse(await readFile(join(paths.state, "labs", lab, "nat.json"), "utf8")) as readonly { readonly table: string }[])
        : [];
      for (const { table } of uplinks) expect(await tables()).toContain(table);

      child.kill("SIGKILL");
      await gone;
      await endAbandonedTests();
      expect(existsSync(base)).toBe(false);
      expect(await holders()).toEqual([]);
      for (const { table } of uplinks) expect(await tables()).not.toContain(table);
      expect(existsSync(mine)).toBe(true);
    } finally {
      child.kill("SIGKILL");
      await rm(mine, { recursive: true });
    }
  },
);
