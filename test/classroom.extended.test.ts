import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type LabwrightClient } from "../src/client/index.ts";
import { makeDirectory } from "../src/files/make-directory.ts";
import { testedProgram } from "../src/files/tested-program.fixture.ts";
import { testDirectory } from "../src/hosts/local/testing/test-directory.fixture.ts";
import { eventually, type TestLocalHost, testLocalHost } from "../src/hosts/local/testing/test-local-host.fixture.ts";
import { type Served, serve } from "./wire/served.ts";

/** A class on real nodes, with accounts of the embedded host. test/docs-run.test.ts follows the page of the commands. */

const password = "correct-horse";
let local: TestLocalHost;
let served: Served;
let folder: string;
const clients: LabwrightClient[] = [];

beforeAll(async () => {
  local = await testLocalHost();
  served = await serve({ host: local.host });
  folder = await testDirectory("classroom");
  await makeDirectory(folder, 0o700);
});
afterAll(async () => {
  for (const client of clients) client.close();
  await served[Symbol.asyncDispose]();
  await local[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

async function signIn(username: string, secret: string): Promise<LabwrightClient> {
  const client = connect({ url: served.url, pin: served.fingerprint, credentials: { username, password: secret } });
  await client.login({ username, password: secret });
  clients.push(client);
  return client;
}

async function cli(client: LabwrightClient, ...args: readonly string[]): Promise<{ readonly code: number; readonly text: string }> {
  const env = {
    PATH: process.env["PATH"],
    HOME: folder,
    LABWRIGHT_URL: served.url,
    LABWRIGHT_PIN: served.fingerprint,
    LABWRIGHT_TOKEN: client.token,
  };
  const child = spawn(process.execPath, [testedProgram("cli/main"), ...args], {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 120_000,
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (text += chunk));
  const [code] = (await once(child, "close")) as [number];
  return { code, text };
}

test("each student uses the own lab alone, and neither destroys it nor gets around the quota of the teacher", async () => {
  const admin = await signIn("admin", "test");
  for (const user of ["teacher", "ann", "bob"]) await admin.setHostUser({ user, add: true, password, role: "user" });
  await admin.setQuota({ kind: "group", name: "courses", members: ["teacher"], labs: 2 });
  const teacher = await signIn("teacher", password);
  await writeFile(
    join(folder, "lab.yaml"),
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference to a variable
    'name: small\nvars-files: [student.yaml]\nlease: 8h\nnodes: {h1: {template: linux, exec: ["echo ${user} > /tmp/who"]}}\n',
  );
  await writeFile(join(folder, "roster.csv"), "user\nann\nbob\nnobody\n");
  const made = await cli(teacher, "fanout", "lab.yaml", "--students", "roster.csv", "--parallel", "1");
  expect(made).toMatchObject({ code: 1, text: expect.stringMatching(/nobody: the quota of group courses allows 2 labs/) });

  const ann = await signIn("ann", password);
  expect((await ann.listLabs()).labs).toMatchObject([
    { lab: "/small/ann", owner: "teacher", right: "operate", lease: { for_ms: 28_800_000 } },
  ]);
  const who = async () => (await ann.execConsole({ lab: "/small/ann", node: "h1", command: "cat /tmp/who" })).output?.trim();
  await eventually("the variable of the student is in the node", 30_000, who, (text) => text === "ann");
  for (const call of [
    ann.execConsole({ lab: "/small/bob", node: "h1", command: "true" }),
    ann.extendLease({ lab: "/small/bob", extend_ms: 60_000 }),
  ]) {
    await expect(call).rejects.toMatchObject({ code: "lab_not_found" });
  }
  await expect(ann.destroyProject({ lab: "/small/ann" })).rejects.toMatchObject({ code: "operation_not_allowed" });
  await expect(ann.setQuota({ kind: "default", labs: 9 })).rejects.toMatchObject({ code: "operation_not_allowed" });

  await ann.deployProject({ lab: "/small/ann2", yaml: "name: own\nnodes: {h1: {template: linux}}\n" });
  expect(await cli(teacher, "fanout", "end", "small", "--yes")).toMatchObject({ code: 0 });
  expect((await admin.listLabs()).labs.map(({ lab }) => lab)).toEqual(["/small/ann2"]);
  await ann.destroyProject({ lab: "/small/ann2" });
});
