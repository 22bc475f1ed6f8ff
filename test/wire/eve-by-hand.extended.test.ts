import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { readUnl, type UnlNode, writeUnl } from "../../src/hosts/eve/lab-file/unl.ts";
import { type FakeEve, startFakeEve } from "../fakes/eve/server.ts";
import { selfSigned } from "../self-signed.ts";
import { EveShell } from "./eve-shell.ts";

let ends: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const end of ends.reverse()) await end();
  ends = [];
});

const yaml = 'name: pair\nnodes:\n  pc1: { kind: vpcs }\n  pc2: { kind: vpcs }\nlinks: [["pc1:eth0", "pc2:eth0"]]\n';

async function signedIn(): Promise<{ readonly fake: FakeEve; readonly shell: EveShell }> {
  const { key, cert, fingerprint } = selfSigned();
  const fake = await startFakeEve({ latency: "none", templates: ["vpcs", "vios"], notices: "visible", tls: { key, cert } });
  ends.push(async () => {
    await fake.close();
    expect(fake.defects).toEqual([]);
  });
  const home = await mkdtemp(join(tmpdir(), "labwright-eve-by-hand-"));
  ends.push(() => rm(home, { recursive: true, force: true }));
  await writeFile(join(home, "pair.lw.yml"), yaml);
  const shell = new EveShell(home, ends);
  await shell.serve("--host-url", fake.url, "--host-pin", fingerprint);
  expect(await shell.run("login", "--user", "admin")).toMatchObject({ code: 0 });
  return { fake, shell };
}

/** Changes the nodes of a lab's file on the host, as the host's pages do. */
function changeByHand(fake: FakeEve, path: string, change: (nodes: readonly UnlNode[]) => readonly UnlNode[]): void {
  const lab = readUnl(fake.labFile(path) ?? "");
  fake.putLabFile(path, writeUnl({ ...lab, nodes: change(lab.nodes) }));
}

it("a node added on the host with a name that exists, and a renamed node, have one key in all commands", async () => {
  const { fake, shell } = await signedIn();
  const lab = ["-t", "pair.lw.yml"];
  expect(await shell.run("deploy", ...lab)).toMatchObject({ code: 0 });
  expect((await shell.run("status", ...lab)).stdout).toMatch(/^NODE +STATUS /m);
  changeByHand(fake, "/pair.unl", (nodes) => [
    ...nodes.map((node) => (node.name === "pc2" ? { ...node, name: "printer" } : node)),
    { ...nodes[0]!, id: 7, interfaces: [] },
  ]);

  const started = await shell.run("start", ...lab, "--node", "pc1-2");
  expect([started.code, started.stdout, started.stderr]).toEqual([0, expect.stringContaining("1 started"), ""]);
  const status = (await shell.run("status", ...lab)).stdout;
  expect(status).toMatch(/^NODE +NAME +STATUS.*\npc1 +running.*\npc1-2 +pc1 +running.*\npc2 +printer +running/m);
  expect((await shell.run("inspect", ...lab, "--refresh")).stdout).toMatch(
    /^NODE +NAME +ID.*\npc1 +1 .*\npc1-2 +pc1 +7 .*\npc2 +printer +2 /m,
  );
  expect((await shell.run("consoles", ...lab)).stdout).toMatch(/^NODE +NAME .*\npc1 .*\npc1-2 +pc1 .*\npc2 +printer /m);
  expect((await shell.run("exec", ...lab, "--node", "pc1-2", "echo the second")).stdout).toContain("the second");
  const all = await shell.run("exec", ...lab, "-c", "echo each");
  expect([all.code, all.stdout]).toEqual([0, expect.stringMatching(/^pc1 .*each[\s\S]*^pc1-2 .*each[\s\S]*^pc2 .*each/m)]);
  expect((await shell.run("plan", ...lab, "--prune")).stdout).toMatch(/- node pc1-2/);

  for (const command of [
    ["status", ...lab, "--node", "printer"],
    ["inspect", ...lab, "--node", "printer"],
    ["start", ...lab, "--node", "printer"],
    ["exec", ...lab, "--node", "printer", "echo"],
    ["console", ...lab, "printer"],
  ]) {
    const { code, stderr } = await shell.run(...command);
    expect([command, code, stderr]).toEqual([
      command,
      1,
      expect.stringMatching(/printer is the name of pc2 on the host \(node_not_found\)\n {2}hint: use --node pc2\n$/),
    ]);
  }
  const several = await shell.run("stop", ...lab, "--node", "pc1-2,printer");
  expect([several.code, several.stdout, several.stderr]).toEqual([
    1,
    expect.stringContaining("1 stopped"),
    expect.stringContaining("printer is the name of pc2 on the host: use --node pc2"),
  ]);
  const link = await shell.run("link", ...lab, "printer:eth0");
  expect([link.code, link.stderr]).toEqual([1, expect.stringMatching(/printer is the name of pc2 on the host\n {2}hint: use pc2:/)]);
});

it("commands name --lab if a file's own name means another lab than the one that it was used for", async () => {
  const { shell } = await signedIn();
  expect(await shell.run("deploy", "-t", "pair.lw.yml", "--lab", "/courses/bgp one", "--no-wait")).toMatchObject({ code: 0 });
  for (const command of ["status", "inspect", "stop", "destroy"]) {
    const { code, stderr } = await shell.run(command, "-t", "pair.lw.yml");
    expect([command, code, stderr]).toEqual([
      command,
      1,
      expect.stringMatching(
        /\(lab_not_found\)\n {2}hint: this file was deployed as \/courses\/bgp one: add --lab ["']\/courses\/bgp one["']\n$/,
      ),
    ]);
  }
  expect((await shell.run("plan", "-t", "pair.lw.yml")).stderr).toMatch(/this file was deployed as \/courses\/bgp one: add --lab/);
  const pulled = await shell.run("pull", "-t", "new.lw.yml", "--lab", "/courses/bgp one", "--yes");
  expect([pulled.code, pulled.stderr]).toEqual([
    0,
    expect.stringMatching(/use -t new\.lw\.yml with --lab ["']\/courses\/bgp one["']: without it, the file means the lab \/\S+\n$/),
  ]);
  const loaded = await shell.run("load", "/courses/bgp one", "-t", "loaded.lw.yml");
  expect([loaded.code, loaded.stderr]).toEqual([0, expect.stringMatching(/use -t loaded\.lw\.yml with --lab ["']\/courses\/bgp one["']/)]);
  expect(await shell.run("deploy", "-t", "pair.lw.yml", "--no-wait")).toMatchObject({ code: 0 });
  expect(await shell.run("pull", "-t", "pair.lw.yml", "--yes")).toMatchObject({ code: 0, stderr: "" });
});

it("--yes alone neither changes nor removes a lab that was drawn on the host and has the name of the file", async () => {
  const { fake, shell } = await signedIn();
  expect(await shell.run("deploy", "-t", "pair.lw.yml", "--no-wait")).toMatchObject({ code: 0 });
  const drawn = writeUnl({ ...readUnl(fake.labFile("/pair.unl") ?? ""), id: crypto.randomUUID(), name: "drawn" });
  fake.putLabFile("/drawn.unl", drawn);
  await writeFile(shell.path("drawn.lw.yml"), "name: drawn\nnodes:\n  pc9: { kind: vpcs }\n");
  for (const command of ["destroy", "apply", "up", "deploy --replace"]) {
    const { code, stderr } = await shell.run(...command.split(" "), "--yes", "-t", "drawn.lw.yml");
    expect([command, code, stderr]).toEqual([
      command,
      1,
      expect.stringMatching(/nothing was changed: \/drawn is on the host, but this service has no record of it: [\s\S]*hint: --take-over/),
    ]);
  }
  expect(fake.labFile("/drawn.unl")).toBe(drawn);
  expect(await shell.run("destroy", "--yes", "-t", "drawn.lw.yml", "--take-over")).toMatchObject({ code: 0 });
  expect(fake.labFile("/drawn.unl")).toBeUndefined();
});

it("a pull whose file cannot be written keeps the mark of the changes by hand, and names the file", async () => {
  const { fake, shell } = await signedIn();
  expect(await shell.run("deploy", "-t", "pair.lw.yml", "--no-wait")).toMatchObject({ code: 0 });
  changeByHand(fake, "/pair.unl", (nodes) => nodes.map((node) => (node.name === "pc2" ? { ...node, name: "printer" } : node)));
  expect((await shell.run("plan", "-t", "pair.lw.yml")).stdout).toContain("(changed on the host)");
  // Its name leaves no room for that of a temporary file beside it.
  const long = `${"p".repeat(243)}.lw.yml`;
  await writeFile(shell.path(long), yaml);
  const pulled = await shell.run("pull", "-t", long, "--yes");
  expect([pulled.code, pulled.stderr]).toEqual([
    1,
    expect.stringMatching(/p\.lw\.yml: its name is too long\n {2}hint: choose a shorter path/),
  ]);
  expect((await shell.run("plan", "-t", "pair.lw.yml")).stdout).toContain("(changed on the host)");
  expect(await shell.run("pull", "-t", "pair.lw.yml", "--yes")).toMatchObject({ code: 0 });
  expect((await shell.run("plan", "-t", "pair.lw.yml")).stdout).not.toContain("(changed on the host)");
});

it("an import names each missing image once, and quotes no text", async () => {
  const { fake, shell } = await signedIn();
  expect(await shell.run("deploy", "-t", "pair.lw.yml", "--no-wait")).toMatchObject({ code: 0 });
  const router = { template: "vios", type: "qemu", image: "vios-gone", ethernet: 1, interfaces: [], console: "telnet" };
  const source = readUnl(fake.labFile("/pair.unl") ?? "");
  const nodes = [{ ...source.nodes[0]!, ...router, id: 8, name: "r1" }];
  fake.putLabFile("/drawn.unl", writeUnl({ ...source, id: crypto.randomUUID(), name: "drawn", networks: [], nodes }));
  const { code, stderr } = await shell.run("import", "/drawn");
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^error: \/drawn was not copied: node r1: the host has no image vios-gone for template vios \(invalid_intent\)\n {2}hint: .*unetlab\/addons.*import it again\n$/,
  );
  expect(stderr.match(/vios-gone/g)).toHaveLength(1);
  expect(await readFile(shell.path("pair.lw.yml"), "utf8")).toBe(yaml);
});

it("validate names positions that the host cannot store, and a plan of them converges", async () => {
  const { shell } = await signedIn();
  await writeFile(shell.path("far.lw.yml"), "name: far\nnodes:\n  pc1: { kind: vpcs, position: { x: -90, y: 20 } }\n");
  const { code, stdout, stderr } = await shell.run("validate", "--online", "-t", "far.lw.yml");
  expect([code, stdout + stderr]).toEqual([
    0,
    expect.stringMatching(/far\.lw\.yml:3:\d+: warning: node pc1: its position \(-90, 20\) becomes \(0, 20\): .*\(position_changed\)/),
  ]);
  expect(await shell.run("deploy", "-t", "far.lw.yml", "--no-wait")).toMatchObject({ code: 0 });
  expect((await shell.run("plan", "-t", "far.lw.yml")).stdout).toBe("no changes\n");
});

it("a lab with a nat network is refused with the type that EVE-NG has for it", async () => {
  const { shell } = await signedIn();
  await writeFile(shell.path("out.lw.yml"), "name: out\nnodes:\n  pc1: { kind: vpcs }\nnetworks:\n  inet: { type: nat }\n");
  for (const command of ["validate --online", "plan", "deploy"]) {
    const { code, stdout, stderr } = await shell.run(...command.split(" "), "-t", "out.lw.yml");
    expect([command, code, stdout + stderr]).toEqual([
      command,
      1,
      expect.stringMatching(/the host has no network type nat; EVE-NG has no network with address translation.*pnet0 \(Cloud 0\)/),
    ]);
  }
});
