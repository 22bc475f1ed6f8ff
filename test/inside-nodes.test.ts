import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, readlink, rm, stat, symlink, writeFile } from "node:fs/promises";
import { type AddressInfo, connect as connectTcp, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type LabwrightClient, type RemoteEnd, type RemoteProcess } from "../src/client/index.ts";
import { tarArchive } from "../src/files/tar/tar-writer.ts";
import { testedProgram } from "../src/files/tested-program.fixture.ts";
import { testDirectory } from "../src/hosts/local/testing/test-directory.fixture.ts";
import { eventually, type TestLocalHost, testLocalHost } from "../src/hosts/local/testing/test-local-host.fixture.ts";
import { type Served, serve } from "./wire/served.ts";

/** Interactive programs in real nodes, over the real server: by the SDK and by the program. */

const lab = "/inside";
const yaml = `name: inside
nodes:
  h1: {template: linux}
  h2: {template: linux}
  r1: {template: frr}
  s1: {template: switch}
links:
  - ["h1:eth0", "r1:eth0"]
`;
const program = testedProgram("cli/main");
let local: TestLocalHost;
let served: Served;
let client: LabwrightClient;
let folder: string;

beforeAll(async () => {
  local = await testLocalHost();
  served = await serve({ host: local.host });
  folder = await testDirectory("inside");
  await mkdir(folder, { recursive: true });
  client = connect({ url: served.url, pin: served.fingerprint, credentials: { username: "admin", password: "test" } });
  await client.deployProject({ yaml });
  await eventually(
    "the nodes run",
    60_000,
    async () => (await client.getProjectStatus({ lab })).live?.nodes ?? [],
    (nodes) => nodes.every(({ status }) => status === "running"),
  );
});
afterAll(async () => {
  client.close();
  await served[Symbol.asyncDispose]();
  await local[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const text = (bytes: string) => Buffer.from(bytes);

/** Reads the output until it matches. Leaves the rest. */
async function heard(items: AsyncIterator<Awaited<ReturnType<RemoteItems["next"]>>["value"]>, pattern: RegExp): Promise<string> {
  let seen = "";
  while (!pattern.test(seen)) {
    const { value, done } = await items.next();
    if (done === true || value === undefined || value.stream === "end") throw new Error(`ended before ${pattern}: ${seen}`);
    seen += value.data.toString();
  }
  return seen;
}
type RemoteItems = ReturnType<RemoteProcess[typeof Symbol.asyncIterator]>;

async function all(remote: RemoteProcess): Promise<{ stdout: string; stderr: string; end: RemoteEnd | undefined }> {
  const outputs = { stdout: "", stderr: "" };
  for await (const item of remote) {
    if (item.stream === "end") return { ...outputs, end: item };
    outputs[item.stream] += item.data.toString();
  }
  return { ...outputs, end: undefined };
}

const search = `for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $f; echo; done 2> /dev/null | grep -q "^$1"`;
/** Returns whether a program with this beginning of its command line runs in the node. */
async function runs(node: string, words: string): Promise<boolean> {
  for await (const { type, exit_code } of await client.execNodes({ lab, node, argv: ["sh", "-c", search, "sh", words] }))
    if (type === "end") return exit_code === 0;
  return false;
}

/** Runs the program with the service of this file. */
function begin(args: readonly string[], url = served.url): ChildProcess {
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    XDG_CONFIG_HOME: join(folder, "config"),
    LABWRIGHT_URL: url,
    LABWRIGHT_PIN: served.fingerprint,
    LABWRIGHT_TOKEN: client.token,
  };
  return spawn(process.execPath, [program, ...args.slice(0, 1), "--lab", lab, ...args.slice(1)], {
    cwd: folder,
    env,
    stdio: ["pipe", "pipe", "pipe"],
  });
}

async function cli(args: readonly string[], input: string | Buffer = ""): Promise<{ code: number; stdout: string; stderr: string }> {
  const child = begin(args);
  const seen = { stdout: "", stderr: "" };
  child.stdout?.on("data", (chunk: Buffer) => (seen.stdout += chunk));
  child.stderr?.on("data", (chunk: Buffer) => (seen.stderr += chunk));
  child.stdin?.on("error", () => {}).end(input);
  const [code] = (await once(child, "close")) as [number];
  return { code, ...seen };
}

test("a shell has a terminal of its own with job control: its size changes, Ctrl-C ends the command and not the shell", async () => {
  const env = { TERM: "xterm", PS1: "ready> " };
  using shell = await client.openProcess({ lab, node: "h1", env, argv: ["sh"], terminal: { columns: 101, rows: 31 } });
  const items = shell[Symbol.asyncIterator]();
  await heard(items, /ready> \S*$/);
  await shell.write(text("stty size; tty\n"));
  expect(await heard(items, /pts\/\d+[\s\S]*ready> \S*$/)).toMatch(/^31 101\s+\/dev\/pts\/\d+/m);
  shell.resize(88, 22);
  await shell.write(text("stty size\n"));
  expect(await heard(items, /\d+ \d+[\s\S]*ready> \S*$/)).toContain("22 88");
  await shell.write(text("sleep 1234; echo code $?\n"));
  await eventually(
    "sleep runs",
    20_000,
    () => runs("h1", "sleep 1234"),
    (is) => is,
  );
  await shell.write(text("\u0003"));
  await heard(items, /\^C[\s\S]*ready> \S*$/);
  await shell.write(text("exit 7\n"));
  for (let item = await items.next(); ; item = await items.next()) {
    expect(item.done).toBe(false);
    if (item.value?.stream === "end") {
      expect(item.value).toEqual({ stream: "end", exit_code: 7 });
      break;
    }
  }
});

test("without a terminal both outputs stay apart, input of megabytes arrives, and signals and time limits end the program", async () => {
  using sum = await client.openProcess({ lab, node: "r1", argv: ["sh", "-c", "sha256sum >&2; wc -c < /dev/null; exit 3"] });
  const input = Buffer.alloc(5 << 20, "0123456789abcdef");
  void sum.write(input).then(() => sum.endInput());
  const { createHash } = await import("node:crypto");
  const digest = createHash("sha256").update(input).digest("hex");
  expect(await all(sum)).toEqual({ stdout: "0\n", stderr: `${digest}  -\n`, end: { stream: "end", exit_code: 3 } });
  using hung = await client.openProcess({ lab, node: "h1", argv: ["sleep", "1234"] });
  hung.signal("SIGTERM");
  expect((await all(hung)).end).toEqual({ stream: "end", signal: "SIGTERM" });
  using late = await client.openProcess({ lab, node: "h1", argv: ["sleep", "1234"], timeout_ms: 50 });
  expect((await all(late)).end).toEqual({ stream: "end", signal: "SIGKILL", reason: "timeout" });
});

test("a closed connection ends the program and all that it started, and so does the end of the session", async () => {
  const one = await client.openProcess({ lab, node: "h2", argv: ["sh", "-c", "sleep 2345 & sleep 2345"] });
  await eventually(
    "the program runs",
    20_000,
    () => runs("h2", "sleep 2345"),
    (is) => is,
  );
  one[Symbol.dispose]();
  await eventually(
    "the program ended",
    20_000,
    () => runs("h2", "sleep 2345"),
    (is) => !is,
  );
  using other = connect({ url: served.url, pin: served.fingerprint, credentials: { username: "admin", password: "test" } });
  const two = await other.openProcess({ lab, node: "h2", argv: ["sleep", "3456"], terminal: { columns: 80, rows: 24 } });
  const failed = expect(all(two)).rejects.toMatchObject({ code: "host_unreachable" });
  await eventually(
    "the program runs",
    20_000,
    () => runs("h2", "sleep 3456"),
    (is) => is,
  );
  await other.logout();
  await failed;
  await eventually(
    "the program ended",
    20_000,
    () => runs("h2", "sleep 3456"),
    (is) => !is,
  );
});

test("an inspection has the addresses that the nodes have now, also beside thousands of others", async () => {
  const run = async (...argv: string[]) => {
    using remote = await client.openProcess({ lab, node: "h1", argv });
    remote.endInput();
    expect((await all(remote)).end).toMatchObject({ exit_code: 0 });
  };
  const addresses = async () => {
    const { nodes } = await client.inspectProject({ lab });
    return Object.fromEntries(nodes.map(({ name, interfaces }) => [name, interfaces.flatMap((one) => one.addresses ?? [])]));
  };
  const sorted = async () => (await addresses())["h1"]?.filter((one) => !one.startsWith("fe80:")).toSorted();
  expect(await sorted()).toEqual([]);
  await run("sh", "-c", "ip link set eth0 up; ip address add 10.1.0.2/24 dev eth0; ip address add 2001:db8::2/64 dev eth0 nodad");
  expect(await sorted()).toEqual(["10.1.0.2/24", "2001:db8::2/64"]);
  await run(
    "sh",
    "-c",
    "ip address del 10.1.0.2/24 dev eth0; for i in $(seq 3000); do echo address add 10.9.$((i / 250)).$((i % 250))/32 dev lo; done | ip -batch -",
  );
  expect(await sorted()).toEqual(["2001:db8::2/64"]);
});

test("a switch, an unknown program and a stopped node are refused or fail with their reason", async () => {
  await expect(client.openProcess({ lab, node: "nobody" })).rejects.toMatchObject({ code: "node_not_found" });
  await expect(client.openProcess({ lab, node: "s1" })).rejects.toMatchObject({ code: "unsupported" });
  await expect(client.openProcess({ lab, node: "h1", argv: [""] })).rejects.toMatchObject({ code: "bad_request" });
  using absent = await client.openProcess({ lab, node: "h1", argv: ["no-such-program"] });
  expect(await all(absent)).toMatchObject({ stderr: expect.stringContaining("no-such-program"), end: { exit_code: 127 } });
});

test("the shell that a node has by itself shows the node in its prompt", async () => {
  for (const node of ["h1", "r1"]) {
    using shell = await client.openProcess({ lab, node, env: { TERM: "dumb" }, terminal: { columns: 80, rows: 24 } });
    expect(await heard(shell[Symbol.asyncIterator](), /# \S*$/)).toMatch(new RegExp(`^${node}:/# `, "m"));
  }
});

test("labwright shell without a terminal sends its input and ends with the exit code", async () => {
  expect(await cli(["shell", "r1"], "hostname; echo oops >&2; exit 3")).toEqual({ code: 3, stdout: "r1\n", stderr: "oops\n" });
  expect(await cli(["shell", "h1", "--", "cat"], "to the letter")).toMatchObject({ code: 0, stdout: "to the letter" });
  expect(await cli(["console", "s1"])).toMatchObject({ code: 1, stderr: expect.stringContaining("hint: labwright switches") });
  expect(await cli(["shell", "s1"])).toMatchObject({ code: 1, stderr: expect.stringContaining("labwright console s1") });
  expect(await cli(["shell"])).toMatchObject({ code: 1, stderr: expect.stringContaining("shell needs a node") });
});

test("exec and console report that the connection to the service ended, each with an exit code of its own, and the program ends", async () => {
  const sockets = new Set<Socket>();
  const { hostname, port } = new URL(served.url);
  const proxy = createServer((near) => {
    const far = connectTcp(Number(port), hostname);
    for (const socket of [near, far]) sockets.add(socket.on("error", () => {}));
    near.pipe(far).pipe(near);
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const url = `https://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const child = begin(["exec", "h1", "--", "sh", "-c", "echo began; exec sleep 4711"], url);
  const seen = { stdout: "", stderr: "" };
  child.stdout?.on("data", (chunk: Buffer) => (seen.stdout += chunk));
  child.stderr?.on("data", (chunk: Buffer) => (seen.stderr += chunk));
  await eventually(
    "it runs",
    30_000,
    async () => seen.stdout,
    (text) => text === "began\n",
  );
  const viewer = begin(["console", "h1"], url);
  const shown = { stdout: "", stderr: "" };
  viewer.stdout?.on("data", (chunk: Buffer) => (shown.stdout += chunk));
  viewer.stderr?.on("data", (chunk: Buffer) => (shown.stderr += chunk));
  viewer.stdin?.write("echo open\n");
  await eventually(
    "the console is open",
    30_000,
    async () => shown.stdout,
    (text) => /^open/m.test(text),
  );
  const ended = Promise.all([once(child, "close"), once(viewer, "close")]);
  proxy.close();
  for (const socket of sockets) socket.destroy();
  expect(await ended).toEqual([
    [255, null],
    [1, null],
  ]);
  expect(shown.stderr).toContain("error: the console was closed: the service has stopped or cannot be reached\n");
  expect(seen.stderr).toBe(
    "error: the connection to the service ended before the program: the service has stopped or cannot be reached, or the session or the lab was ended\n" +
      "  hint: the program ends with its connection; labwright status shows the lab; then run it again\n",
  );
  await eventually(
    "it has ended",
    30_000,
    () => runs("h1", "sleep 4711"),
    (running) => !running,
  );
});

test("exec sends a node more input than fits into a request, and ends when the program does", async () => {
  const input = Buffer.alloc(30 << 20, "0123456789abcdef");
  expect(await cli(["exec", "-i", "h1", "--", "wc", "-c"], input)).toEqual({ code: 0, stdout: `${input.length}\n`, stderr: "" });
  expect(await cli(["exec", "-i", "h1", "--", "sh", "-c", "head -c 4; exit 3"], input)).toEqual({ code: 3, stdout: "0123", stderr: "" });
  expect(await cli(["exec", "-i", "--max-output", "5", "h1", "--", "cat"], input)).toMatchObject({ code: 125, stdout: "01234" });
  expect(await cli(["exec", "-i", "h1", "h2", "--", "cat"], "few")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/h1 \| few[\s\S]*h2 \| few|h2 \| few[\s\S]*h1 \| few/),
  });
});

test("files of the intent exist before a node's commands run; a change is written into the running node, and a wrong one is reported", async () => {
  const at = "/files";
  const intent = (motd: string, more = "") => `name: files
nodes:
  n1:
    template: linux
    files:
      /etc/motd: ${motd}
      /opt/tool/run: {text: "#!/bin/sh\\necho ran", mode: "0755", owner: "1000:7"}
${more}    exec: [/opt/tool/run > /root/said, ls -ln /opt/tool/run >> /root/said]
`;
  const output = async (...argv: readonly string[]) => {
    using program = await client.openProcess({ lab: at, node: "n1", argv });
    return (await all(program)).stdout;
  };
  const change = async (yaml: string) => {
    const { plan_identity: identity, actions = [] } = await client.planProject({ yaml, lab: at });
    const fields = actions.flatMap(({ disruption, changes = [] }) => changes.map(({ field }) => `${field} ${disruption}`));
    return { fields, run: () => client.reconcileProject({ yaml, lab: at, confirm: true, plan_identity: identity ?? "" }) };
  };
  await client.deployProject({ yaml: intent("first") });
  const running = async () => (await client.getProjectStatus({ lab: at })).live?.nodes?.[0]?.status;
  await eventually("it runs", 60_000, running, (status) => status === "running");
  expect(await output("cat", "/etc/motd", "/root/said")).toMatch(/^firstran\n-rwxr-xr-x +1 1000 +7 /);
  const more = "      /srv/new: {text: added, mode: 600}\n";
  const first = await change(intent("second", more));
  expect(first.fields.sort()).toEqual(["files./etc/motd none", "files./srv/new none"]);
  await first.run();
  expect(await output("sh", "-c", "cat /etc/motd /srv/new; stat -c %a:%u /srv/new; wc -l < /root/said")).toBe("secondadded600:0\n2\n");
  // The same intent again changes nothing; a file that is taken away is removed.
  expect((await change(intent("second", more))).fields).toEqual([]);
  await (await change(intent("second"))).run();
  expect(await output("ls", "/srv")).toBe("");
  // The node refuses it: the change fails with the reason, and is still planned afterwards.
  const wrong = intent("second", "      /etc/dir: {text: x, owner: nobody-here}\n");
  await expect((await change(wrong)).run()).rejects.toMatchObject({
    message: expect.stringMatching(/\/etc\/dir[\s\S]*nobody-here[\s\S]*stop n1 and repeat the change/),
  });
  expect((await change(wrong)).fields).toEqual(["files./etc/dir none"]);
  await client.destroyProject({ lab: at });
});

test("cp copies folders into nodes and out of them: links, modes and times stay, several nodes get folders", async () => {
  const at = (name: string) => join(folder, name);
  await mkdir(at("site/deep"), { recursive: true });
  await writeFile(at("site/run.sh"), "#!/bin/sh\necho ran\n", { mode: 0o755 });
  await writeFile(at("site/deep/large"), Buffer.alloc(3_000_000, "0123456789"));
  await symlink("run.sh", at("site/link"));
  expect(await cli(["cp", "./site", "h*,r1:/tmp/"])).toEqual({ code: 0, stdout: "", stderr: "" });
  expect(await cli(["exec", "h1", "--", "/tmp/site/link"])).toMatchObject({ code: 0, stdout: "ran\n" });
  expect(await cli(["exec", "r1", "--", "stat", "-c", "%a %u:%g %N", "/tmp/site/run.sh", "/tmp/site/link"])).toMatchObject({
    stdout: expect.stringMatching(/^755 0:0 .*run\.sh'?\n777 0:0 .*link'? -> '?run\.sh'?\n$/),
  });
  expect(await cli(["cp", "h1:/tmp/site", "./back"])).toEqual({ code: 0, stdout: "", stderr: "" });
  expect((await readFile(at("back/deep/large"))).equals(await readFile(at("site/deep/large")))).toBe(true);
  expect(await readlink(at("back/link"))).toBe("run.sh");
  expect(((await stat(at("back/run.sh"))).mode & 0o777).toString(8)).toBe("755");
  expect(await cli(["exec", "h?", "--", "sh", "-c", "hostname > /tmp/name"])).toMatchObject({ code: 0 });
  expect(await cli(["cp", "h?:/tmp/name", "./names"])).toMatchObject({ code: 0 });
  expect([await readFile(at("names/h1/name"), "utf8"), await readFile(at("names/h2/name"), "utf8")]).toEqual(["h1\n", "h2\n"]);
  // A name that does not exist yet is the name of the copy, on both sides.
  expect(await cli(["cp", "./site/run.sh", "h2:/usr/bin/greet"])).toMatchObject({ code: 0 });
  expect(await cli(["exec", "h2", "--", "greet"])).toMatchObject({ stdout: "ran\n" });
  // Archives on standard input and output.
  const child = begin(["cp", "h2:/usr/bin/greet", "-"]);
  const archive: Buffer[] = [];
  child.stdout?.on("data", (chunk: Buffer) => archive.push(chunk));
  expect(await once(child, "close")).toEqual([0, null]);
  expect(await cli(["cp", "-", "r1:/tmp"], Buffer.concat(archive))).toEqual({ code: 0, stdout: "", stderr: "" });
  expect(await cli(["exec", "r1", "--", "/tmp/greet"])).toMatchObject({ stdout: "ran\n" });
});

test("cp takes several sources into a folder, in both directions, and refuses two of one name", async () => {
  await mkdir(join(folder, "several"), { recursive: true });
  for (const name of ["one", "two"]) await writeFile(join(folder, "several", name), name);
  expect(await cli(["cp", "./several/one", "./several/two", "h1,h2:/tmp"])).toEqual({ code: 0, stdout: "", stderr: "" });
  await mkdir(join(folder, "from"));
  expect(await cli(["cp", "h1:/tmp/one", "h1:/tmp/two", "./from"])).toEqual({ code: 0, stdout: "", stderr: "" });
  expect(await readFile(join(folder, "from", "two"), "utf8")).toBe("two");
  expect(await cli(["cp", "h1:/tmp/one", "h2:/tmp/one", "./from"])).toMatchObject({ code: 0 });
  expect(await readFile(join(folder, "from", "h2", "one"), "utf8")).toBe("one");
  const complaint = async (...args: readonly string[]) => (await cli(["cp", ...args])).stderr.split("\n")[0];
  expect(await complaint("./several/one", "./several/two", "h1:/tmp/one")).toBe("error: cp: h1 has no folder /tmp/one/");
  expect(await complaint("h1:/tmp/one", "h1:/tmp/two", "./missing")).toBe("error: cp: there is no folder ./missing/");
  expect(await complaint("./several/one", "./from/one", "h1:/tmp")).toBe(
    "error: cp: two sources are named one, and would replace each other in /tmp/",
  );
  expect(await complaint("./several/one", "h1:/tmp/two", "h2:/tmp")).toContain("between a node and this machine");
});

test("cp names what is wrong, and a node that sends a hostile archive changes nothing outside of the target", async () => {
  const complaint = async (...args: readonly string[]) => (await cli(["cp", ...args])).stderr.split("\n")[0];
  await writeFile(join(folder, "plain"), "x");
  expect(await complaint("h1:/no/such", ".")).toBe("error: h1:/no/such: the node has no such file or folder");
  expect(await complaint("h1:/etc/host*", ".")).toBe(
    "error: h1:/etc/host*: the node has no such file or folder: a path of a node is not a pattern",
  );
  expect(await cli(["cp", "h1:/dev/null", "."])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("h1:/dev/null is not a file or folder"),
  });
  expect(await complaint("h1:/", ".")).toContain("a whole file system is not copied");
  expect(await complaint("./plain", "h1:/no/folder/x")).toBe("error: h1:/no/folder/x: the node has no folder /no/folder");
  expect(await complaint("./absent", "h1:/tmp")).toBe("error: cp: there is no file or folder ./absent");
  expect(await complaint("./plain", "./other")).toContain("between a node and this machine");
  expect(await complaint("h1:/etc/hosts", "./no/such/")).toContain("no folder ./no/such/");
  expect(await complaint("./plain", "h1:tmp")).toContain('"h1:tmp" is not an absolute path');
  expect(await complaint("nobody:/etc", ".")).toContain("nobody");
  // A node whose shell is a program of its own sends any archive.
  await writeFile(join(folder, "evil.tar"), tarArchive([{ name: "etc/../../escaped", data: Buffer.from("evil") }]));
  expect(await cli(["cp", "./evil.tar", "h2:/evil.tar"])).toMatchObject({ code: 0 });
  const replace = "printf '#!/bin/busybox sh\\ncat /evil.tar\\n' > /sh; chmod +x /sh; mv /sh /bin/sh";
  expect(await cli(["exec", "h2", "--", "sh", "-c", replace])).toMatchObject({ code: 0 });
  expect(await complaint("h2:/etc", "./copied")).toContain("leads out of the folder");
  expect([existsSync(join(folder, "escaped")), existsSync(join(folder, "../escaped"))]).toEqual([false, false]);
});

test("cp into a folder that exists writes over its files and keeps the others; a file in the place of a folder is refused", async () => {
  const at = (name: string) => join(folder, name);
  await mkdir(at("merged/same/.hidden"), { recursive: true });
  await writeFile(at("merged/same/file"), "new");
  await writeFile(at("merged/same/.hidden/x"), "new");
  await writeFile(at("merged/-odd name"), "new");
  await symlink("file", at("merged/same/link"));
  const script =
    "mkdir -p /tmp/merged/same; cd /tmp/merged; echo old > same/file; echo old > same/other; ln -s /etc same/link; mkdir .labwright-part.999999";
  expect(await cli(["exec", "h1", "--", "sh", "-c", script])).toMatchObject({ code: 0 });
  expect(await cli(["cp", "./merged", "h1:/tmp/"])).toEqual({ code: 0, stdout: "", stderr: "" });
  const list = "cd /tmp/merged; cat same/file same/.hidden/x './-odd name' same/other; readlink same/link; ls -A /etc/file 2> /dev/null";
  expect(await cli(["exec", "h1", "--", "sh", "-c", list])).toMatchObject({ stdout: "newnewnewold\nfile\n" });
  expect(await cli(["cp", "./merged/same/file", "h1:/tmp/merged/same/.hidden/file"])).toMatchObject({ code: 0 });
  await rm(at("merged/same"), { recursive: true });
  await writeFile(at("merged/same"), "file");
  const { code, stderr } = await cli(["cp", "./merged", "h1:/tmp/"]);
  expect([code, stderr]).toEqual([1, expect.stringContaining("./merged/same is a folder in the node and none in the copy")]);
  expect(await cli(["exec", "h1", "--", "sh", "-c", "ls -A /tmp | grep labwright"])).toMatchObject({ stdout: "" });
  // The folder of a copy that was killed goes with the next copy to its place.
  expect(await cli(["cp", "./merged/-odd name", "h1:/tmp/merged/"])).toMatchObject({ code: 0 });
  expect(await cli(["exec", "h1", "--", "sh", "-c", "ls -A /tmp/merged | grep labwright"])).toMatchObject({ stdout: "" });
});

test("cp into a node leaves nothing of a copy that is cut off or does not fit, and keeps the file that was there", async () => {
  expect(await cli(["exec", "h1", "--", "sh", "-c", "echo before > /tmp/cut"])).toMatchObject({ code: 0 });
  // Its input never ends: the copy is killed when a part is in the node.
  const child = begin(["cp", "-", "h1:/tmp"]);
  const large = tarArchive([{ name: "cut", data: Buffer.alloc(30 << 20, "x") }]);
  child.stdin?.on("error", () => {});
  child.stdin?.write(large.subarray(0, 20 << 20));
  const files = async () => (await cli(["exec", "h1", "--", "sh", "-c", "cat /tmp/cut | head -c 20; ls -A /tmp | grep labwright"])).stdout;
  await eventually("a part is in the node", 30_000, files, (text) => text.includes(".labwright-part."));
  expect(await files()).toContain("before\n");
  child.kill("SIGKILL");
  await once(child, "close");
  await eventually("nothing is left", 30_000, files, (text) => text === "before\n");
  // A full disk.
  const small = "echo before > /dev/shm/large; cat /dev/zero > /dev/shm/fill 2> /dev/null; truncate -s 63M /dev/shm/fill";
  expect(await cli(["exec", "h1", "--", "sh", "-c", small])).toMatchObject({ code: 0 });
  await writeFile(join(folder, "large"), Buffer.alloc(3 << 20));
  const { code, stderr } = await cli(["cp", "./large", "h1:/dev/shm/large"]);
  expect([code, stderr]).toEqual([1, expect.stringContaining("No space left")]);
  expect(await cli(["exec", "h1", "--", "sh", "-c", "cat /dev/shm/large; rm /dev/shm/fill; ls -A /dev/shm"])).toMatchObject({
    stdout: "before\nlarge\n",
  });
});

test("cp ends if tar in the node does nothing for the given time", async () => {
  const replace = `mkdir -p /usr/local/bin; printf '#!/bin/sh\nexec sleep 600\n' > /usr/local/bin/tar; chmod +x /usr/local/bin/tar`;
  expect(await cli(["exec", "h1", "--", "sh", "-c", replace])).toMatchObject({ code: 0 });
  const { code, stderr } = await cli(["cp", "--idle-timeout", "1", "h1:/etc", "./idle"]);
  expect([code, stderr]).toEqual([1, expect.stringContaining("h1:/etc: tar in the node did nothing for 1 s, so the copy was ended")]);
  await writeFile(join(folder, "more"), Buffer.alloc(30 << 20));
  expect((await cli(["cp", "--idle-timeout", "1", "./more", "h1:/tmp/more"])).stderr).toContain(
    "h1:/tmp/more: tar in the node did nothing",
  );
  expect(await cli(["exec", "h1", "--", "rm", "/usr/local/bin/tar"])).toMatchObject({ code: 0 });
  expect(existsSync(join(folder, "idle"))).toBe(false);
});

test("cp reports why it refuses the archive of a node that sends nothing, or does not stop sending", async () => {
  const archives = {
    top: tarArchive([{ name: "./", type: "5" }]),
    large: tarArchive([{ name: "d", data: Buffer.alloc(20 << 20) }]).subarray(0, 512),
    long: tarArchive([{ name: "d", type: "L", data: Buffer.alloc(2 << 20, "x") }]),
  };
  for (const [name, archive] of Object.entries(archives)) {
    await writeFile(join(folder, `${name}.tar`), archive);
    expect(await cli(["cp", `./${name}.tar`, "h1:/"])).toMatchObject({ code: 0 });
  }
  const cases = [
    ["head -c 10240 /dev/zero", "the archive is empty"],
    ["cat /top.tar", "the archive is empty"],
    ["cat /large.tar /dev/zero", "more than 10737418 bytes"],
    ["exec cat /dev/zero", "too much follows the end"],
    ["cat /top.tar; kill -9 $$", "h1:/tmp/d: Killed"],
    ["cat /long.tar /dev/zero", "extended headers have more than"],
    ["echo no room >&2; exit 3", "no room"],
    ["exit 3", "tar ended with 3"],
  ] as const;
  for (const [script, reason] of cases) {
    const replace = `mkdir -p /usr/local/bin /tmp/d; printf '#!/bin/sh\\n%s\\n' "$1" > /usr/local/bin/tar; chmod +x /usr/local/bin/tar`;
    expect(await cli(["exec", "h1", "--", "sh", "-c", replace, "sh", script])).toMatchObject({ code: 0 });
    const { code, stderr } = await cli(["cp", "--max-size", "0.01", "h1:/tmp/d", "./copied"]);
    expect([script, code, stderr]).toEqual([script, expect.any(Number), expect.stringContaining(reason)]);
    expect(code).not.toBe(0);
  }
  expect(await cli(["exec", "h1", "--", "rm", "/usr/local/bin/tar"])).toMatchObject({ code: 0 });
});
