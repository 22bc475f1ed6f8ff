import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { leftBehind, leftovers, ownerOf } from "../scripts/leftovers.ts";

/** A test of the run that LABWRIGHT_TEST_RUN names. It deploys a lab, and destroys it when its standard input ends. */
const script = `
const { labOf, testLocalHost } = await import(${JSON.stringify(new URL("../src/hosts/local/testing/test-local-host.fixture.ts", import.meta.url).href)});
const local = await testLocalHost();
const nat = (await local.session.capabilities()).features.nat;
await local.deploy("/left", labOf("{name: left, management: " + nat + ", nodes: {a: {template: linux}}, networks: {n: {type: " + (nat ? "nat" : "bridge") + "}}, links: [['a:eth0', n]]}"));
console.log(JSON.stringify({ run: local.paths.run, lab: (await local.session.observe("/left")).id, nat }));
for await (const _ of process.stdin);
await local[Symbol.asyncDispose]();
process.exit();
`;

async function deployed(run: string) {
  const env = { ...process.env, LABWRIGHT_TEST_RUN: run };
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["pipe", "pipe", "inherit"], env });
  const gone = once(child, "close");
  const said = await Promise.race([once(child.stdout, "data"), gone.then(() => undefined)]);
  if (said === undefined) throw new Error("the test ended");
  const end = async () => {
    child.stdin.end();
    await gone;
  };
  return { ...(JSON.parse(String(said[0])) as { run: string; lab: string; nat: boolean }), end, [Symbol.asyncDispose]: end };
}

describe.skipIf(process.getuid?.() !== 0)("the look for what a run of tests left", () => {
  test("finds the processes, namespaces, files and nat networks of the run's labs, and nothing of another run's labs", async () => {
    const [mine, theirs] = [`mine${process.pid}`, `theirs${process.pid}`];
    // A lab of a run that was killed may have left its tables on the machine.
    const before = new Set(await leftovers(ownerOf(mine, "/nonexistent")));
    await using own = await deployed(mine);
    await using other = await deployed(theirs);
    const look = () => leftovers(ownerOf(mine, own.run));
    const found = await look();
    const text = found.join("\n");
    expect(text).toMatch(new RegExp(`^process \\d+ labwright-holder lab=${own.lab}`, "m"));
    expect(text).toMatch(/^namespace net:/m);
    expect(text).toMatch(/^namespace user:/m);
    expect(text).toMatch(/^file /m);
    const table = (lab: string) => `table inet labwright_${lab.replaceAll("-", "_")}_`;
    if (own.nat) expect(text).toContain(table(own.lab));
    if (own.nat) expect(text).toMatch(/^interface lw-[^m]/m);
    if (own.nat) expect(text).toMatch(/^interface lw-m/m);
    expect(text).not.toContain(other.lab);
    expect(text).not.toContain(table(other.lab));
    expect((await leftovers(ownerOf(theirs, other.run))).join("\n")).toContain(other.lab);
    await own.end();
    const ended = await leftBehind(look, before, 30_000);
    // The record of networks stays in the run directory, which goes with the test's own directory.
    expect(ended.filter((line) => !line.startsWith("file "))).toEqual([]);
  });
});
