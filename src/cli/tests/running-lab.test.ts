import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connect } from "../../client/index.ts";
import { cli, run, useService, write } from "./cli.fixture.ts";

useService();

test("a locked lab refuses changes and names the command that unlocks it; a host without a load report is an error", async () => {
  write("held");
  expect((await run(["deploy"])).code).toBe(0);
  expect(await run(["lock"])).toMatchObject({ code: 0, stdout: "/held: locked\n" });
  const refused = await run(["stop", "--lab", "/held"]);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(/\/held is locked on the host[\s\S]*\(lab_locked\)\n\s+hint: \S*labwright unlock/);
  expect((await run(["status"])).stdout).toContain("locked");
  expect(await run(["unlock", "--lab", "/held", "--format", "json"])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('"locked": false'),
  });
  expect((await run(["stop", "--lab", "/held"])).code).toBe(0);
  expect(await run(["host"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("this host does not offer a report of its load"),
  });
});

test("commands in results can be typed, a capture does not overwrite a file, and plans name changed entries", async () => {
  const text = (name: string) => `name: listed\nnodes:\n  h1: {template: linux, exec: ["echo a", "echo ${name}"]}\n`;
  write("listed", text("b"));
  expect((await run(["deploy"])).code).toBe(0);
  write("listed", text("c"));
  expect((await run(["plan"])).stdout).toContain('2 → 2 entries: -"echo b", +"echo c"');
  writeFileSync(join(cli.folder, "kept.pcapng"), "mine");
  const capture = await run(["capture", "h1:eth0", "-w", "kept.pcapng"]);
  expect([capture.code, capture.stderr]).toEqual([1, expect.stringContaining("kept.pcapng exists already")]);
  expect((await run(["grants", "--revoke", "nobody"])).stderr).toContain("error: /listed is not shared with nobody");
  const destroyed = await run(["destroy", "--no-wipe", "--yes"], { env: { npm_lifecycle_event: "labwright" } });
  expect(destroyed.stdout).toBe("destroyed /listed; npm run labwright -- disks lists its disks\n");
});

test("hints depend on the command: adopt of a recorded lab, quarantine of an unknown ID, no login", async () => {
  write("hinted");
  expect((await run(["deploy"])).code).toBe(0);
  expect((await run(["adopt", "/hinted"])).stderr).toMatch(/\(lab_exists\)\n {2}hint: .*labwright grants --lab \/hinted/);
  for (const action of ["restore", "delete"])
    expect((await run(["quarantine", action, "nowhere"])).stderr).toMatch(/\(lab_not_found\)\n {2}hint: labwright quarantine list/);
  expect((await run(["labs"], { env: { LABWRIGHT_TOKEN: "not-a-token" } })).stderr).toBe(
    "error: the token in LABWRIGHT_TOKEN is not valid: it has expired, or it was revoked (unauthenticated)\n  hint: labwright token create makes a new one, where you are signed in with a password\n",
  );
  await run(["stop", "--node", "h1"]);
  expect((await run(["cli", "h1", "--", "true"])).stderr).toContain("labwright start h1");
  expect((await run(["exec", "h1", "--", "true"])).stderr).toMatch(
    /^error: h1 does not run \(node_not_running\)\n {2}hint: labwright start h1 starts it; labwright logs h1 /,
  );
});

test("open prints a link to the lab's page, by file or by path, that signs in once", async () => {
  write("shown");
  expect((await run(["open", "lab.yaml"])).stderr).toContain("lab_not_found");
  expect((await run(["deploy"])).code).toBe(0);
  const opened = await run(["open", "lab.yaml"]);
  expect(opened).toMatchObject({ code: 0, stderr: expect.stringContaining("works once") });
  expect(opened.stderr.replaceAll(":", "").toLowerCase()).toContain(cli.fingerprint.replaceAll(":", "").toLowerCase());
  const link = new URL(opened.stdout.trim());
  expect([link.origin, link.pathname]).toEqual([new URL(cli.url).origin, "/ui/labs/shown"]);
  const { ticket } = /#ticket=(?<ticket>[0-9a-f]{64})$/.exec(link.href)!.groups!;
  using client = connect({ url: cli.url, pin: cli.fingerprint });
  expect(await client.createBrowserSession({ ticket })).toMatchObject({ expires_at: expect.any(String) });
  await expect(client.createBrowserSession({ ticket })).rejects.toMatchObject({ code: "browser_token_invalid" });
  const { url: other } = JSON.parse((await run(["open", "--lab", "/shown", "--format", "json"])).stdout) as { readonly url: string };
  expect(other).not.toBe(link.href);
});

test("start, stop and wipe report the result for the nodes", async () => {
  write("power");
  expect((await run(["deploy"])).code).toBe(0);
  expect((await run(["stop", "--node", "r1", "--mode", "poweroff"])).stdout).toBe("1 node: 1 stopped\n");
  expect((await run(["stop", "--node", "r1", "h1"])).stdout).toBe("2 nodes: 1 stopped, 1 already stopped\n");
  expect((await run(["start", "r*"])).stdout).toBe("1 node: 1 started\n");
  expect((await run(["restart", "r1,h1"])).code).toBe(0);
  expect((await run(["stop", "h1", "r1"])).stdout).toBe("2 nodes: 2 stopped\n");
  expect((await run(["start"])).stdout).toBe("2 nodes: 2 started\n");
  expect((await run(["wipe", "--node", "h1"])).stderr).toContain("--yes");
  const unknown = await run(["start", "--node", "nobody"]);
  expect([unknown.code, unknown.stderr + unknown.stdout]).toEqual([1, expect.stringMatching(/node_not_found|invalid/)]);
  expect(await run(["start", "--node", "r1,nobody"])).toEqual({
    code: 1,
    stdout: "2 nodes: 1 already running, 1 invalid\n",
    stderr: "/power has no node nobody; it has h1, r1\n",
  });
  // The same flag selects rows.
  const rows = async (...args: string[]) => (await run(args)).stdout.match(/^[hr]1(?= )/gm);
  for (const command of ["status", "inspect", "consoles"]) {
    expect(await rows(command), command).toEqual(["h1", "r1"]);
    expect(await rows(command, "--node", "r1"), command).toEqual(["r1"]);
    expect(await rows(command, "r1"), command).toEqual(["r1"]);
    expect(await rows(command, "--node", "r1,h1"), command).toEqual(["h1", "r1"]);
    expect(await run([command, "--node", "nobody"]), command).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("(node_not_found)"),
    });
  }
});

test("a question names the lab that would be lost, and is not asked for a missing lab", async () => {
  write("stake");
  expect((await run(["destroy"])).stderr).toContain("error: there is no lab /stake (lab_not_found)");
  expect((await run(["deploy"])).code).toBe(0);
  const lost = "/stake (2 nodes, 2 running)";
  expect((await run(["destroy"])).stderr).toContain(`there is no terminal to ask: Remove the lab ${lost} with its disks?`);
  expect((await run(["deploy", "-c"])).stderr).toContain(`Delete the lab ${lost} with its disks`);
  expect((await run(["wipe", "--node", "h1"])).stderr).toContain(`Delete the disks of h1 of ${lost}? Running nodes are stopped.`);
  const byPath = await run(["jobs", "--lab", "stake"]);
  expect(byPath.stdout).toMatch(/\/stake +deploy +admin/);
  // The same lab, named by its file.
  expect(await run(["jobs", "-t", "."])).toEqual(byPath);
  expect((await run(["destroy", "--yes"])).code).toBe(0);
  // Its changes are still found by the file.
  const gone = await run(["jobs", "-t", "."]);
  expect(gone.stdout).toMatch(/\/stake +destroy [\s\S]*\/stake +deploy /);
  expect([gone.code, gone.stderr]).toEqual([0, ""]);
});

test("a deploy notes the other labs of its file", async () => {
  write("twice");
  const alone = await run(["deploy", "--lab", "/copies/twice"]);
  expect([alone.code, alone.stderr]).toEqual([1, expect.stringContaining("hint: -t FILE names the lab's file")]);
  const first = await run(["deploy", "-t", ".", "--lab", "/copies/twice"]);
  expect([first.code, first.stderr]).toEqual([0, expect.not.stringContaining("also deployed")]);
  const { code, stderr } = await run(["deploy"]);
  expect([code, stderr]).toEqual([
    0,
    expect.stringContaining(
      "this file was also deployed as /copies/twice: without --lab, commands mean /twice; add --lab /copies/twice for that lab",
    ),
  ]);
});

test("one end names a link, and a call has one action", async () => {
  write("cable");
  expect((await run(["deploy"])).code).toBe(0);
  expect((await run(["link", "h1:eth1", "--delay", "40", "--loss", "0.5"])).stdout).toBe(
    "from h1:eth1: delay 40 ms, loss 0.5 %\nfrom r1:eth1: delay 40 ms, loss 0.5 %\n",
  );
  expect((await run(["link", "h1:eth1", "--delay", "7", "--from", "r1:eth1"])).stdout).toBe(
    "from h1:eth1: perfect\nfrom r1:eth1: delay 7 ms\n",
  );
  const shown = "h1:eth1 -- r1:eth1\nfrom h1:eth1: perfect\nfrom r1:eth1: delay 7 ms (saved on the host: perfect)\n";
  for (const ends of [["h1:eth1"], ["h1:eth1", "r1:eth1"], ["h1:eth1"]])
    expect(await run(["link", ...ends])).toMatchObject({ code: 0, stdout: shown });
  expect((await run(["link", "r1:eth1"])).stdout).toMatch(/^r1:eth1 -- h1:eth1\nfrom r1:eth1: delay 7 ms/);
  expect(JSON.parse((await run(["link", "h1:eth1", "--format", "json"])).stdout).quality).toMatchObject({ a: { delay: 7 } });
  expect((await run(["link", "h1:eth1", "h1:eth9"])).stderr).toContain("/cable has no link h1:eth1 -- h1:eth9");
  expect(await run(["link", "h1:eth1", "--clear"])).toMatchObject({ code: 0, stdout: "from h1:eth1: perfect\nfrom r1:eth1: perfect\n" });
  expect((await run(["link", "h1:eth1"])).stdout).toBe("h1:eth1 -- r1:eth1\nfrom h1:eth1: perfect\nfrom r1:eth1: perfect\n");
  expect((await run(["link", "h1:eth1", "--preset", "wan2", "--loss", "0", "--from", "h1:eth1"])).stdout).toBe(
    "from h1:eth1: delay 40 ms, jitter 2 ms, bandwidth 10000 kbit/s\nfrom r1:eth1: perfect\n",
  );
  expect((await run(["link", "r1:eth1", "--suspend", "--from", "r1:eth1"])).stdout).toMatch(/: suspended at r1:eth1\n$/);
  expect((await run(["inspect"])).stdout.match(/suspended/g)).toHaveLength(1);
  expect((await run(["status"])).stdout).toMatch(/\nsuspended: r1:eth1 \(labwright link NODE:INTERFACE --resume\)\n$/);
  expect((await run(["link", "h1:eth1"])).stdout).toMatch(/^h1:eth1 -- r1:eth1 {2}suspended\n.*\n.*perfect; suspended at this end\n$/);
  expect((await run(["stop", "--node", "h1"])).code).toBe(0);
  const idle = await run(["link", "h1:eth1", "--delay", "9"]);
  expect([idle.code, idle.stderr]).toEqual([
    1,
    expect.stringContaining("error: nothing was changed: the quality of a link can be set only while"),
  ]);
  expect(await run(["link", "h1:eth1", "--delay", "9", "--save"])).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("takes effect when"),
  });
  expect((await run(["link", "r1:eth9", "--resume"])).stderr).toBe("error: r1:eth9 has no link in /cable\n  hint: such as r1:eth1\n");
  const wrong = [
    ["--suspend", "--resume"],
    ["--suspend", "--delay", "4"],
    ["--suspend", "--preset", "wan1"],
    ["--preset", "wan3"],
    ["--delay", "-5"],
    ["--clear", "--delay", "5"],
    ["--clear", "--suspend"],
    ["--clear", "--from", "h1:eth1"],
    ["--save"],
    ["--from", "h1:eth1"],
  ];
  for (const flags of wrong) {
    const { code, stderr } = await run(["link", "r1:eth1", ...flags]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^error: --(suspend|delay|preset|clear|save|from) /)]);
  }
});

test("flags for the node before -- are refused, and no part of the command runs", async () => {
  const { code, stderr } = await run(["exec", "--node", "h1", "ping", "-c", "3", "10.0.0.1"]);
  expect([code, stderr]).toEqual([1, expect.stringContaining("hint: arguments for the node are given after --")]);
  expect((await run(["exec", "ip", "-br", "addr"])).stderr).toContain("hint: arguments for the node are given after --");
});

test("templates, inspect and labs print a table or pure JSON", async () => {
  write("listed");
  const deployed = await run(["deploy"]);
  expect(deployed.code, deployed.stderr).toBe(0);
  expect((await run(["templates"])).stdout).toMatch(/^ID[\s\S]*frr +router/);
  expect((await run(["templates", "frr"])).stdout).toContain("daemons");
  expect((await run(["inspect"])).stdout).toMatch(/r1:eth1.*h1:eth1/);
  expect((await run(["labs"])).stdout).toContain("/listed");
  for (const command of [["templates"], ["inspect"], ["labs"], ["consoles"]]) {
    const { stdout, stderr } = await run([...command, "--format", "json"]);
    expect([typeof JSON.parse(stdout), stderr], command[0]).toEqual(["object", ""]);
  }
});

test("wait ends when the named nodes are there, and is an error for a node that stays stopped", async () => {
  write("waited");
  expect((await run(["deploy"])).code).toBe(0);
  expect(await run(["wait", "h1"])).toMatchObject({ code: 0, stdout: "ready: h1\n" });
  expect(await run(["wait", "h1", "--for", "running", "--format", "json"])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('"live"'),
  });
  await run(["stop", "--node", "h1"]);
  // Without a name: a node that was stopped on purpose is not waited for.
  expect((await run(["wait"])).code).toBe(0);
  const late = await run(["wait", "h1", "--timeout", "1"]);
  expect([late.code, late.stdout]).toEqual([1, expect.stringMatching(/h1\s+stopped/)]);
  expect(late.stderr).toMatch(/not running: h1\n {2}hint: labwright start .*--node h1/);
  expect((await run(["wait", "nobody"])).stderr).toContain("(node_not_found)");
  expect((await run(["up", "--test", "--no-wait"])).stderr).toContain("give one of the two");
});

test("exec without -- runs and types nothing, and its hint has the nodes among the words", async () => {
  write("dashes");
  expect((await run(["deploy"])).code).toBe(0);
  for (const [words, hint] of [
    ["h1 hostname", "labwright exec h1 -- hostname\n"],
    ["r1,h1 'r*' ip route", "labwright exec 'r1,h1' 'r*' -- ip route\n"],
    ["h1", "labwright exec h1 -- PROGRAM\n"],
    ["hostname", "labwright exec NODE -- hostname; without NODE it runs in all nodes\n"],
  ] as const) {
    const ran = await run(["exec", ...words.replaceAll("'", "").split(" ")]);
    expect(ran, words).toEqual({
      code: 1,
      stdout: "",
      stderr: `error: exec needs -- before the program; nothing was run\n  hint: ${hint}`,
    });
  }
});
