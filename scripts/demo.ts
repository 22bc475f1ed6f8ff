/**
 * Shows Labwright on real nodes in under a minute: a service over TLS, a lab of three OSPF routers and three hosts, pings through it, a change that is
 * planned, applied and confirmed, and a check that nothing is left at the end. It runs the commands that a user would type, with its state in a temporary
 * directory. With --stay the lab keeps running, also in a browser, until Enter is pressed.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmod, cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { localPaths } from "../src/hosts/local/machine/paths.ts";
import { holdings, leftBehind, leftovers } from "./leftovers.ts";

const root = join(import.meta.dirname, "..");
/** Tests have bundled the program, which starts faster than its sources. */
const program = join(root, process.env["LABWRIGHT_TEST_BUNDLE"] === "1" ? "dist/bundle/cli/main.js" : "src/cli/main.ts");
const work = await mkdtemp(join(tmpdir(), "labwright-demo-"));
await chmod(work, 0o711); // nodes access their disks below it with user ids of their own
const shared = localPaths(process.env, process.getuid?.() ?? 0);
const password = randomBytes(12).toString("base64url");
const env = {
  ...process.env,
  NO_COLOR: process.stdout.isTTY ? undefined : "1",
  LABWRIGHT_IMAGE_DIR: shared.images,
  LABWRIGHT_HOLDER: shared.holder,
  LABWRIGHT_STATE_DIR: join(work, "state"),
  LABWRIGHT_RUN_DIR: join(work, "run"),
  LABWRIGHT_ADMIN_PASSWORD: password,
  LABWRIGHT_PASSWORD: password,
  XDG_CONFIG_HOME: join(work, "config"),
};
const begin = performance.now();
const owner = { mark: new RegExp(work.replaceAll(/[^\w/-]/g, "\\$&")), runDir: env.LABWRIGHT_RUN_DIR };
const before = new Set(await leftovers(owner));
let service: ChildProcess | undefined;

/** Ctrl-C ends the running command. The lab and the service are removed as after any other failure. */
const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => interrupted.abort());

try {
  await demo();
  say(`Done in ${((performance.now() - begin) / 1000).toFixed(1)} s.`);
} catch (error) {
  process.exitCode = interrupted.signal.aborted ? 130 : 1;
  const why = interrupted.signal.aborted ? "interrupted; cleaning up" : error instanceof Error ? error.message : String(error);
  console.error(`\ndemo: ${why}`);
} finally {
  await cleanUp();
}

async function demo(): Promise<void> {
  say("A service on the embedded host, over TLS");
  const { url, fingerprint } = await serve();
  await labwright(["login", "--url", url, "--pin", fingerprint, "--user", "admin"]);

  say("Three OSPF routers and three hosts, from one YAML file");
  await cp(join(root, "labs/ospf-triangle"), join(work, "ospf-triangle"), { recursive: true });
  await cp(join(root, "labs/ospf-triangle.yaml"), join(work, "lab.yaml"));
  await labwright(["deploy", "-t", "lab.yaml"]);
  await labwright(["status", "-t", "lab.yaml"]);
  await pings("h1", "192.168.3.10");
  await pings("h2", "192.168.1.10");
  await labwright(["cli", "-t", "lab.yaml", "r1", "--", "show", "ip", "ospf", "neighbor"]);

  say("The lab in a browser");
  await labwright(["open", "-t", "lab.yaml"]);
  console.log("(its topology, terminals, links and plans; npm run demo -- --stay leaves time to look)");

  say("A change: a fourth router behind r1, and r1's configuration for it");
  await edit();
  await labwright(["plan", "-t", "lab.yaml"], { codes: [2] });

  say("It disturbs no running node, and is applied at once");
  await labwright(["apply", "-t", "lab.yaml", "--no-confirm"]);
  await pings("h3", "10.255.0.4");
  await labwright(["cli", "-t", "lab.yaml", "r4", "--", "show", "ip", "route", "ospf"]);

  say("A change that restarts a node waits for a confirmation, of exactly the plan that is shown");
  await editHost();
  await labwright(["apply", "-t", "lab.yaml", "--no-confirm"], { codes: [2] });
  await labwright(["apply", "-t", "lab.yaml", "--yes"]);
  await labwright(["plan", "-t", "lab.yaml"], { codes: [0] });
  await pings("h1", "192.168.3.10");

  if (process.argv.includes("--stay")) await stay();

  say("The end: nothing must be left");
  const labs = await readdir(join(work, "state/labs"));
  const own = await holdings(labs);
  if (own.length === 0) throw new Error("the lab has neither processes nor namespaces");
  await labwright(["destroy", "-t", "lab.yaml", "--yes"]);
  await stopService();
  await nothingLeft(labs);
  const count = (word: string) => own.filter((item) => item.startsWith(word)).length;
  console.log(`${count("process ")} holders with their processes and ${count("namespace ")} namespaces are gone.`);
  console.log("No process, namespace, interface, mount or firewall table of the lab is left.");
}

/** Throws if anything of the lab or the demo is left. Waits for processes that are still ending. */
async function nothingLeft(labs: readonly string[]): Promise<void> {
  const left = await leftBehind(async () => [...(await leftovers(owner)), ...(await holdings(labs))], before, 5_000);
  if (left.length > 0) throw new Error(`left behind:\n${left.join("\n")}`);
}

/** Waits until Enter is pressed. */
async function stay(): Promise<void> {
  say("The lab stays until you press Enter");
  await labwright(["open", "-t", "lab.yaml"]);
  await once(process.stdin.resume(), "data", { signal: interrupted.signal });
  process.stdin.pause();
}

/** Adds a fourth router behind r1. r1 gets an interface and an address for it. */
async function edit(): Promise<void> {
  const lab = await readFile(join(work, "lab.yaml"), "utf8");
  const router = "  r4: # the branch\n    kind: router\n    startup-config: ospf-triangle/r4.conf\n    position: {x: 440, y: 60}\n";
  const branch = '  - ["r1:eth3", "r4:eth1"]\n';
  await writeFile(join(work, "lab.yaml"), lab.replace("  h1:\n", `${router}  h1:\n`).replace("tests:\n", `${branch}tests:\n`));
  const r1 = await readFile(join(work, "ospf-triangle/r1.conf"), "utf8");
  const link = (address: string) =>
    ["interface eth3", ` ip address ${address}`, " ip ospf area 0", " ip ospf network point-to-point"].concat([
      " ip ospf hello-interval 1",
      " ip ospf dead-interval 4",
      "exit",
      "!",
    ]);
  await writeFile(join(work, "ospf-triangle/r1.conf"), r1.replace("router ospf\n", `${link("10.0.14.1/30").join("\n")}\nrouter ospf\n`));
  const r4 = ["frr defaults traditional", "hostname r4", "service integrated-vtysh-config", "!", "interface lo"].concat(
    [" ip address 10.255.0.4/32", " ip ospf area 0", "exit", "!"],
    link("10.0.14.2/30").map((line) => line.replace("eth3", "eth1")),
    ["router ospf", " ospf router-id 10.255.0.4", " timers throttle spf 10 50 500", "exit", "!", "end", ""],
  );
  await writeFile(join(work, "ospf-triangle/r4.conf"), r4.join("\n"));
}

/** Gives h3 an environment, which only a restart sets. */
async function editHost(): Promise<void> {
  const lab = await readFile(join(work, "lab.yaml"), "utf8");
  await writeFile(join(work, "lab.yaml"), lab.replace("  h3:\n", "  h3:\n    env: {SITE: three}\n"));
}

/** Waits for the first reply, because routes follow some time after full adjacencies. Then shows three pings. */
async function pings(node: string, address: string): Promise<void> {
  const since = performance.now();
  const once = ["exec", "-t", "lab.yaml", node, "--", "ping", "-c", "1", "-W", "1", address];
  while (!/ 0% packet loss/.test((await labwright(once, { quiet: true, codes: [0, 1] })).stdout)) {
    if (performance.now() - since > 30_000) throw new Error(`${node} does not reach ${address} after 30 s`);
  }
  const { stdout } = await labwright(["exec", "-t", "lab.yaml", node, "--", "ping", "-c", "3", "-i", "0.2", "-W", "2", address]);
  if (!/ 0% packet loss/.test(stdout)) throw new Error(`${node} does not reach ${address}`);
}

async function serve(): Promise<{ url: string; fingerprint: string }> {
  console.log("$ labwright serve &");
  const child = spawn(process.execPath, [program, "serve", "--port", "0"], {
    env,
    cwd: work,
    stdio: ["ignore", "pipe", "pipe"],
    // In a process group of its own: Ctrl-C must not end the service, which the clean-up needs.
    detached: true,
  });
  service = child;
  let text = "";
  child.stdout.on("data", (chunk) => (text += chunk));
  child.stderr.on("data", (chunk) => (text += chunk));
  const until = performance.now() + 20_000;
  while (performance.now() < until && !hasEnded(child)) {
    const url = /https:\/\/[^\s,"]+/.exec(text)?.[0];
    const fingerprint = /sha256[:\s]+([0-9a-f:]{64,95})/i.exec(text)?.[1];
    if (url && fingerprint) {
      console.log(`listening on ${url}, certificate sha256:${fingerprint}`);
      return { url, fingerprint };
    }
    await delay(20);
  }
  throw new Error(`the service did not start:\n${text}`);
}

async function labwright(
  args: readonly string[],
  options: { readonly quiet?: boolean; readonly cleaning?: boolean; readonly codes?: readonly number[] } = {},
): Promise<{ stdout: string }> {
  if (!options.cleaning) interrupted.signal.throwIfAborted();
  if (!options.quiet) console.log(`\n$ labwright ${args.join(" ")}`);
  const child = spawn(process.execPath, [program, ...args], {
    env,
    cwd: work,
    stdio: ["ignore", "pipe", "pipe"],
    // Only `stop` passes Ctrl-C on, once: a second one would make the command leave its change running.
    detached: true,
  });
  const stop = () => child.kill("SIGINT");
  if (!options.cleaning) interrupted.signal.addEventListener("abort", stop);
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (chunk) => {
    stdout += chunk;
    if (!options.quiet) process.stdout.write(chunk);
  });
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
    if (!options.quiet) process.stderr.write(chunk);
  });
  const code = await new Promise<number | null>((done) => child.once("close", done));
  interrupted.signal.removeEventListener("abort", stop);
  if (!(options.codes ?? [0]).includes(code ?? -1))
    throw new Error(`labwright ${args.join(" ")} ended with ${code}\n${options.quiet ? stderr : ""}`);
  return { stdout };
}

async function stopService(): Promise<void> {
  const child = service;
  if (!child || hasEnded(child)) return;
  const gone = new Promise((done) => child.once("exit", done));
  child.kill("SIGTERM");
  await gone;
}

async function cleanUp(): Promise<void> {
  if (service !== undefined && !hasEnded(service)) {
    // After a failure the lab may still run: `destroy` removes it. An interrupted change may still be ending.
    const labs = await readdir(join(work, "state/labs")).catch(() => []);
    if (labs.length > 0) await labwright(["destroy", "-t", "lab.yaml", "--yes"], { quiet: true, cleaning: true });
    await stopService();
  }
  await rm(work, { recursive: true, force: true });
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

function say(text: string): void {
  console.log(`\n\u2014 ${text}`);
}
