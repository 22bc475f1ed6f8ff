import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { readUnl, writeUnl } from "../../src/hosts/eve/lab-file/unl.ts";
import { type FakeEve, startFakeEve } from "../fakes/eve/server.ts";
import { selfSigned } from "../self-signed.ts";
import { EveShell } from "./eve-shell.ts";

let ends: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const end of ends.reverse()) await end();
  ends = [];
});

async function selfSignedHost(): Promise<{ readonly fake: FakeEve; readonly shell: EveShell; readonly fingerprint: string }> {
  const { key, cert, fingerprint } = selfSigned();
  const fake = await startFakeEve({ latency: "none", templates: ["vpcs"], notices: "visible", tls: { key, cert } });
  ends.push(async () => {
    await fake.close();
    expect(fake.defects).toEqual([]);
  });
  const home = await mkdtemp(join(tmpdir(), "labwright-eve-setup-"));
  ends.push(() => rm(home, { recursive: true, force: true }));
  await writeFile(
    join(home, "pair.lw.yml"),
    'name: pair\nnodes:\n  pc1: { kind: vpcs }\n  pc2: { kind: vpcs }\nlinks: [["pc1:eth0", "pc2:eth0"]]\n',
  );
  return { fake, shell: new EveShell(home, ends), fingerprint };
}

describe("the set-up of a host with a self-signed certificate", () => {
  it.each([
    ["without a pin", []],
    ["with the pin of another certificate", ["--host-pin", "AB:".repeat(31).concat("AB")]],
  ])("%s, sign-in sends nothing and prints the fingerprint and the flag, which then works", async (_name, pin) => {
    const { fake, shell, fingerprint } = await selfSignedHost();
    const stop = await shell.serve("--host-url", fake.url, ...pin);
    const refused = await shell.run("login", "--user", "admin");
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(`--host-pin ${fingerprint}`)]);
    expect(refused.stderr).toMatch(pin.length === 0 ? /\(tls_untrusted\)/ : /\(tls_pin_mismatch\)/);
    expect(refused.stderr).not.toMatch(/\b500\b|internal|labwright login --pin|--pin SHA256/);
    expect(fake.calls).toEqual([]);
    await stop();

    const [, flag = "", value = ""] = /(--host-pin) ([0-9A-F:]+)/.exec(refused.stderr) ?? [];
    await shell.serve("--host-url", fake.url, flag, value);
    expect(await shell.run("login", "--user", "admin")).toMatchObject({ code: 0 });
    expect(await shell.run("deploy", "-t", "pair.lw.yml")).toMatchObject({ code: 0 });
    expect(fake.running()).toHaveLength(2);
    // A lab of the host's own: its nodes are not counted, and none is not zero.
    fake.putLabFile("/drawn.unl", (fake.labFile("/pair.unl") ?? "").replace(/(<lab [^>]*\bid=")[^"]*/, `$1${crypto.randomUUID()}`));
    const labs = (await shell.run("labs")).stdout;
    expect(labs).toMatch(/^\/drawn +load +yes +- *$/m);
    expect(labs).toMatch(/^\/pair +create +admin +yes +2 /m);
    expect(await shell.run("adopt", "/drawn")).toMatchObject({ code: 0 });
    expect((await shell.run("labs")).stdout).toMatch(/^\/drawn +create +admin +yes +2 /m);
    const status = await shell.run("status", "-t", "pair.lw.yml");
    expect([status.code, status.stdout]).toEqual([0, expect.stringMatching(/pc1 +running[\s\S]*pc2 +running/)]);
    const exec = await shell.run("exec", "-t", "pair.lw.yml", "--node", "pc1", "echo over TLS");
    expect([exec.code, exec.stdout]).toEqual([0, expect.stringContaining("over TLS")]);
  });
});

it("the commands name each node that did not start with its reason, what is left to do, and why a host is not read", async () => {
  const { fake, shell, fingerprint } = await selfSignedHost();
  await shell.serve("--host-url", fake.url, "--host-pin", fingerprint);
  expect(await shell.run("login", "--user", "admin")).toMatchObject({ code: 0 });
  expect(await shell.run("deploy", "-t", "pair.lw.yml")).toMatchObject({ code: 0 });
  expect(await shell.run("stop", "-t", "pair.lw.yml")).toMatchObject({ code: 0 });
  for (let times = 0; times < 2; times++) fake.failNextStart({ code: 12, node: 2 });
  const started = await shell.run("start", "-t", "pair.lw.yml", "--no-wait");
  expect([started.code, started.stdout]).toEqual([1, expect.stringMatching(/1 started, 1 failed/)]);
  expect(started.stderr).toMatch(/error: start node pc2: Failed to start node \(12\)/);
  expect(started.stderr).not.toMatch(/logs/);
  const plan = await shell.run("plan", "-t", "pair.lw.yml");
  expect(plan.stdout).toMatch(/pc2/);
  expect(plan.stdout).not.toMatch(/no changes/i);
  expect((await shell.run("exec", "-t", "pair.lw.yml", "--node", "pc2", "show ip")).stderr).not.toMatch(/labwright logs/);
  await fake.close();
  const status = await shell.run("status", "-t", "pair.lw.yml");
  expect(status.stdout).toMatch(/the host does not report the state of the nodes: .*refused.* \(host_unreachable\)/);
});

it("snapshots are taken, listed, restored and removed by command, and pictures and tasks are read", async () => {
  const { fake, shell, fingerprint } = await selfSignedHost();
  await shell.serve("--host-url", fake.url, "--host-pin", fingerprint);
  expect(await shell.run("login", "--user", "admin")).toMatchObject({ code: 0 });
  const deployed = await shell.run("deploy", "-t", "pair.lw.yml", "--no-wait");
  expect(deployed, deployed.stderr).toMatchObject({ code: 0 });
  const refused = await shell.run("snapshot", "take", "early", "-t", "pair.lw.yml");
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/pc1, pc2 run: stop the nodes first.*nodes_running/s)]);
  expect(await shell.run("stop", "-t", "pair.lw.yml")).toMatchObject({ code: 0 });
  expect(await shell.run("snapshot", "-t", "pair.lw.yml")).toMatchObject({ code: 0, stdout: "no snapshots\n" });
  const taken = await shell.run("snapshot", "take", "early", "-t", "pair.lw.yml");
  expect(taken).toMatchObject({ code: 0, stdout: "/pair: took snapshot early (2 nodes, no disks)\n" });
  expect((await shell.run("snapshot", "list", "--lab", "/pair")).stdout).toMatch(/^SNAPSHOT +TAKEN\nearly +\d{4}-/);
  const restored = await shell.run("snapshot", "restore", "early", "-t", "pair.lw.yml", "--yes");
  expect([restored.code, restored.stdout]).toEqual([
    0,
    expect.stringMatching(/restored from snapshot early\na snapshot holds no disks.*labwright pull/s),
  ]);
  expect(await shell.run("snapshot", "remove", "early", "-t", "pair.lw.yml", "--yes")).toMatchObject({ code: 0 });
  expect((await shell.run("snapshot", "restore", "early", "-t", "pair.lw.yml", "--yes")).stderr).toMatch(/snapshot_not_found/);
  expect((await shell.run("snapshot", "restore", "early", "-t", "pair.lw.yml")).stderr).toMatch(/the lab has no snapshot early/);
  expect((await shell.run("stop", "--mode", "hibernate", "-t", "pair.lw.yml")).stderr).toMatch(
    /the host has no stop mode 2 \(hibernate\); it has 1 \(poweroff\), 3 \(auto\)/,
  );
  expect((await shell.run("snapshot", "burn", "-t", "pair.lw.yml")).stderr).toMatch(/has no action "burn"/);

  const png = Buffer.from("\x89PNG\r\n\x1a\nabc", "latin1");
  const picture = { id: 1, name: "plan", type: "image/png", data: png.toString("base64"), map: "<area href='telnet://{{IP}}:{{NODE2}}'>" };
  expect(await shell.run("tasks", "--lab", "/pair")).toMatchObject({ code: 0, stdout: "", stderr: "/pair has no tasks\n" });
  fake.putLabFile("/pair.unl", writeUnl({ ...readUnl(fake.labFile("/pair.unl") ?? ""), body: "# Do <b>this</b>", pictures: [picture] }));
  expect(await shell.run("tasks", "--lab", "/pair")).toMatchObject({ code: 0, stdout: "# Do <b>this</b>\n" });
  expect((await shell.run("pictures", "-t", "pair.lw.yml")).stdout).toMatch(/1 +plan +image\/png +11 \S+ +pc2/);
  for (const code of [0, 1]) expect(await shell.run("pictures", "1", "-w", "plan.png", "--lab", "/pair")).toMatchObject({ code });
  expect(await readFile(shell.path("plan.png"))).toEqual(png);
});
