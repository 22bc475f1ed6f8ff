import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connect } from "../../client/index.ts";
import { cli, password, run, useService } from "./cli.fixture.ts";

useService();

const lab =
  // biome-ignore lint/suspicious/noTemplateCurlyInString: references to variables
  'name: bgp\nvars-files: [student.yaml]\ndescription: "AS ${asn} of ${user}, number ${number}"\nnodes:\n  r1: {template: frr, startup-config: "${user}.conf"}\n';

/** Runs a command as a teacher who is not an admin: the memory host has no accounts of students, which an admin would be asked for. */
async function teach(...args: readonly string[]) {
  token ??= (await run(["token", "create", "class"])).stdout.trim();
  return await run(args, { env: { LABWRIGHT_TOKEN: token } });
}
let token: string | undefined;

const put = (name: string, text: string) => writeFileSync(join(cli.folder, name), text);

test("a class has a lab for each student with the student's variables, a board, a hand-in, and an end; labs of others stay", async () => {
  put("lab.yaml", lab);
  put("roster.csv", "\ufeffuser;asn\r\nann;65001\r\nbob@x;65002\r\n");
  for (const user of ["ann", "bob@x"]) put(`${user}.conf`, `hostname ${user.slice(0, 3)}\n`);
  const made = await teach("fanout", "lab.yaml", "--students", "roster.csv", "--parallel", "1");
  expect(made).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/ann +\/bgp\/ann +deployed[\s\S]*bob@x +\/bgp\/bob_at_x +deployed/),
  });

  const client = connect({ url: cli.url, pin: cli.fingerprint });
  await client.login({ username: "admin", password });
  expect((await client.getPublicProject({ lab: "/bgp/bob_at_x" })).yaml).toContain("AS 65002 of bob@x, number 2");
  expect((await client.getLabGrants({ lab: "/bgp/ann" })).grants).toEqual([{ user: "ann", right: "operate" }]);
  await client.setLabGrants({ lab: "/bgp/ann", grants: [{ user: "tutor", right: "view" }] });

  // The same command makes missing labs and gives back missing rights.
  put("roster.csv", "user,asn\nann,65001\nbob@x,65002\neve,65003\n");
  put("eve.conf", "hostname eve\n");
  const again = await teach("fanout", "lab.yaml", "--students", "roster.csv", "--format", "json");
  expect((JSON.parse(again.stdout) as { labs: object[] }).labs).toEqual([
    { student: "ann", lab: "/bgp/ann", outcome: "exists already" },
    { student: "bob@x", lab: "/bgp/bob_at_x", outcome: "exists already" },
    { student: "eve", lab: "/bgp/eve", outcome: "deployed" },
  ]);
  expect((await client.getLabGrants({ lab: "/bgp/ann" })).grants).toEqual([
    { user: "ann", right: "operate" },
    { user: "tutor", right: "view" },
  ]);

  expect((await teach("board", "bgp")).stdout).toMatch(/ann +1 of 1 running +- +20/);
  expect(await teach("board", "bgp", "reset", "nobody")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("it has ann, bob_at_x, eve"),
  });
  const before = (await client.inspectProject({ lab: "/bgp/ann", refresh: true })).taken_at;
  expect(await teach("board", "bgp", "reset", "ann", "--yes")).toMatchObject({ code: 0, stdout: expect.stringContaining("recreated") });
  expect(before).toBeDefined();
  expect((await client.getLabGrants({ lab: "/bgp/ann" })).grants).toHaveLength(2);

  const collected = await teach("collect", "bgp", "--output", "hand-in");
  expect(collected.stdout).toMatch(/eve +\/bgp\/eve/);
  expect(readFileSync(join(cli.folder, "hand-in/eve/lab.yaml"), "utf8")).toBe(lab);
  expect(readFileSync(join(cli.folder, "hand-in/eve/student.yaml"), "utf8")).toBe('number: 3\nuser: "eve"\nasn: 65003\n');
  expect(await teach("collect", "bgp", "--output", "hand-in")).toMatchObject({ code: 1, stderr: expect.stringContaining("not empty") });

  await client.deployProject({ lab: "/bgp/deeper/own", yaml: "name: own\nnodes: {h1: {template: linux}}\n" });
  expect(await teach("fanout", "end", "bgp", "--yes")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/ann[\s\S]*destroyed[\s\S]*eve[\s\S]*destroyed/),
  });
  expect((await client.listLabs()).labs.map((one) => one.lab)).toEqual(["/bgp/deeper/own"]);
  expect(await teach("fanout", "end", "bgp", "--yes")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("you have no labs of a class /bgp"),
  });
  client.close();
});

test("labs that fail are listed, and the others are made; nothing begins with a roster or a lab that has mistakes", async () => {
  put("lab.yaml", "name: small\nnodes: {h1: {template: linux}}\n");
  put("roster.csv", "user\nann\nbob\neve\n");
  expect((await run(["quota", "set", "admin", "--labs", "3", "--format", "json"])).code).toBe(0);
  const made = await teach("fanout", "lab.yaml", "--students", "roster.csv", "--parallel", "1");
  expect(made.code).toBe(1);
  expect(made.stdout).toMatch(/eve +\/small\/eve +failed \(quota_exceeded\)/);
  expect(made.stderr).toContain("error: eve: the quota of user admin allows 3 labs: 3 used, 4 after this change");
  expect(made.stderr).toContain("1 of 3 labs failed");
  expect((await run(["quota"])).stdout).toMatch(/admin +3 of 3/);
  expect((await run(["quota", "remove", "admin"])).code).toBe(0);

  put("roster.csv", "user\nzoe\n");
  expect((await run(["fanout", "lab.yaml", "--students", "roster.csv"])).stderr).toContain("these students have no account: zoe");
  for (const [roster, text] of [
    ["user\nann\nann\n", "line 3: ann has the same lab as line 2"],
    ["user,asn\nzoe,1\n", "does not use the columns of the roster"],
    ["user\nadmin\n", "admin is in the roster"],
  ] as const) {
    put("roster.csv", roster);
    expect(await teach("fanout", "lab.yaml", "--students", "roster.csv")).toMatchObject({ code: 1, stderr: expect.stringContaining(text) });
  }
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference to a variable
  put("lab.yaml", "name: wrong\nvars-files: [student.yaml]\nnodes: {h1: {template: linux, ram: '${ram}'}}\n");
  put("roster.csv", "user,ram\nann,256\nbob,much\n");
  const wrong = await teach("fanout", "lab.yaml", "--students", "roster.csv");
  expect(wrong.stderr).toMatch(/the lab of bob is not valid: lab.yaml:3: .*\n +hint: nothing was deployed/);
  expect((await teach("fanout", "end", "small", "--yes", "--parallel", "2")).code).toBe(0);
});
