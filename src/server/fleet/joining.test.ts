import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { testedProgram } from "../../files/tested-program.fixture.ts";
import { cluster, postgresPrograms } from "../../service/store/testing/cluster.fixture.ts";

/* Mistakes at the start of a machine of a fleet: each is refused with its reason, and changes nothing in the database. */

const is = { skip: postgresPrograms === undefined, timeout: 240_000 };
/** An address of the loopback that no other test process has. */
const addressOf = (place: number) =>
  `127.${224 + ((process.pid >> 14) & 15)}.${(process.pid >> 6) & 255}.${((process.pid & 63) << 2) + place}`;

interface Started {
  readonly text: () => string;
  readonly ended: Promise<unknown>;
  end(): Promise<void>;
}

let base: string;
let store: string;
let database: string;
const running: Started[] = [];

beforeEach(async () => {
  if (is.skip) return;
  base = mkdtempSync(join(tmpdir(), "labwright-joining-"));
  store = (await (await cluster()).database()).url;
  database = store.split("/").at(-1)!;
});
afterEach(async () => {
  for (const one of running.splice(0)) await one.end();
  if (base !== undefined) rmSync(base, { recursive: true });
});

/** Starts a service with a state directory of its own. */
function serve(name: string, ...flags: readonly string[]): Started {
  const argv = [
    testedProgram("server/main"),
    "--host",
    "memory",
    "--port",
    "0",
    "--state-dir",
    join(base, name),
    "--store",
    store,
    ...flags,
  ];
  const env = { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE };
  const child = spawn(process.execPath, argv, { env, stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes) => (text += bytes));
  const ended = once(child, "close");
  const started = {
    text: () => text,
    ended,
    end: async () => {
      child.kill("SIGTERM");
      await ended;
    },
  };
  running.push(started);
  return started;
}

/** Returns what a start that fails prints last. */
async function refused(name: string, ...flags: readonly string[]): Promise<string> {
  const { text, ended } = serve(name, ...flags);
  expect(await ended, text()).toEqual([1, null]);
  return text().trim().split("\n").at(-1)!;
}

async function startsWith(started: Started): Promise<void> {
  await expect.poll(started.text, { timeout: 100_000 }).toMatch(/ listens on /);
}

async function rows(text: string): Promise<readonly unknown[]> {
  return (await cluster()).query(database, text);
}

const advertise = (name: string, place: number) => ["--advertise", `https://${addressOf(place)}:8444`, "--machine-name", name];

test("an address that is not this machine's, or is in use, is refused before anything is in the database", is, async () => {
  expect(await refused("alpha", "--advertise", "https://192.0.2.9:8444")).toBe(
    "labwright serve: --advertise https://192.0.2.9:8444: this machine has no address 192.0.2.9: name one of its own (ip address shows them)",
  );
  expect(await refused("alpha", "--advertise", "https://0.0.0.0:8444")).toContain("the other machines cannot connect to 0.0.0.0");
  expect(await refused("alpha", "--advertise", "https://nowhere.invalid:8444")).toContain("the name nowhere.invalid has no address");
  const server = createServer().listen(8444, addressOf(1));
  await once(server, "listening");
  expect(await refused("alpha", ...advertise("alpha", 1))).toContain(`port 8444 of ${addressOf(1)} is in use`);
  await new Promise((resolve) => server.close(resolve));
  expect(await rows("SELECT * FROM machines")).toEqual([]);
  expect(await rows("SELECT * FROM fleet")).toEqual([]);
});

test("a start that fails ends its lease, so that other machines do not take its labs for lost", is, async () => {
  await refused("alpha", "--advertise", "https://192.0.2.9:8444");
  expect(await rows("SELECT id FROM services WHERE ended_at IS NULL")).toEqual([]);
});

test("a service does not start outside the fleet of its database while another machine of the fleet runs", is, async () => {
  const alpha = serve("alpha", ...advertise("alpha", 1));
  await startsWith(alpha);
  expect(await refused("stranger")).toBe(
    "labwright serve: the database has a fleet, which alpha belongs to, and this service is not a machine of it: add --advertise and --join-token-file, or use another database",
  );
  await alpha.end();
  // A fleet of one machine may end.
  const alone = serve("alpha");
  await startsWith(alone);
  await alone.end();
});

test("a machine that forgets --advertise is refused while another one runs, and starts if all the others are lost", is, async () => {
  const alpha = serve("alpha", ...advertise("alpha", 1));
  await startsWith(alpha);
  await rows(`INSERT INTO machines (name, installation, url, state, labels, facts, joined_at, seen_at)
    SELECT 'beta', 'of beta', 'https://192.0.2.2:8444', state, labels, facts, joined_at, clock_timestamp() FROM machines`);
  await alpha.end();
  expect(await refused("alpha")).toBe(
    "labwright serve: this is the machine alpha of the database's fleet, which beta belongs to: start it with --advertise, or remove it first on beta: labwright machines remove alpha",
  );
  await rows("UPDATE machines SET seen_at = clock_timestamp() - interval '31 s' WHERE name = 'beta'");
  await startsWith(serve("alpha"));
});

test("the address of another machine, and a copied fleet-key, are refused with the reason", is, async () => {
  const alpha = serve("alpha", ...advertise("alpha", 1));
  await startsWith(alpha);
  await rows(`UPDATE machines SET url = 'https://${addressOf(2)}:8444'`);
  mkdirSync(join(base, "beta"), { mode: 0o700 });
  cpSync(join(base, "alpha/fleet-key"), join(base, "beta/fleet-key"));
  expect(await refused("beta", ...advertise("beta", 2))).toBe(
    `labwright serve: the machine alpha of the fleet has the address https://${addressOf(2)}:8444: give --advertise an address of this machine`,
  );
  expect(await refused("beta", ...advertise("beta", 3))).toContain("or its fleet-key is a copy of another machine's");
  writeFileSync(join(base, "garbage"), "garbage", { mode: 0o600 });
  expect(await refused("beta", ...advertise("beta", 3), "--join-token-file", join(base, "garbage"))).toContain("the join token is damaged");
  // The token was read once: its file may be gone.
  await rows(`UPDATE machines SET url = 'https://${addressOf(1)}:8444'`);
  await alpha.end();
  await startsWith(serve("alpha", ...advertise("alpha", 1), "--join-token-file", join(base, "gone")));
});

test("a machine that is not set up for labs does not join: its token stays valid", is, async () => {
  await startsWith(serve("alpha", ...advertise("alpha", 1)));
  const text = await refused("beta", "--host", "embedded", ...advertise("beta", 2), "--join-token-file", join(base, "token"));
  expect(text).toMatch(/^labwright serve: this machine is not set up for labs: no lab holder \(.*\), no root file systems \(.*\)/);
  expect(await rows("SELECT name FROM machines")).toEqual([{ name: "alpha" }]);
});

test("a copy of a state directory does not start while its machine runs; a machine that has moved does", is, async () => {
  const alpha = serve("alpha", ...advertise("alpha", 1));
  await startsWith(alpha);
  cpSync(join(base, "alpha"), join(base, "clone"), { recursive: true });
  for (const file of ["service.lock", "service.json"]) rmSync(join(base, "clone", file), { force: true });
  expect(await refused("clone", ...advertise("clone", 2))).toContain(
    `this state directory is that of the machine alpha, which runs at https://${addressOf(1)}:8444: a new machine needs an empty one`,
  );
  expect(await rows("SELECT name, url FROM machines")).toEqual([{ name: "alpha", url: `https://${addressOf(1)}:8444` }]);
  // The machine itself has noticed nothing.
  expect(alpha.text()).not.toMatch(/lease of this one|a copy of the state directory/);
  await alpha.end();
  await startsWith(serve("clone", ...advertise("clone", 2)));
  expect(await rows("SELECT name FROM machines")).toEqual([{ name: "clone" }]);
});

test("the service of a machine that was removed ends with the reason", is, async () => {
  const alpha = serve("alpha", ...advertise("alpha", 1));
  await startsWith(alpha);
  await rows("DELETE FROM machines");
  expect(await alpha.ended, alpha.text()).toEqual([1, null]);
  expect(alpha.text().trim().split("\n").at(-1)).toMatch(
    /^labwright serve: this machine was removed from the fleet: its service has ended, and its nodes run on\. To use the machine again, /,
  );
  expect(alpha.text().match(/its calls are refused/g)).toHaveLength(1);
});

test("a service whose state directory was copied ends with the reason when the copy begins", is, async () => {
  const alpha = serve("alpha");
  await startsWith(alpha);
  cpSync(join(base, "alpha"), join(base, "clone"), { recursive: true });
  for (const file of ["service.lock", "service.json"]) rmSync(join(base, "clone", file), { force: true });
  await startsWith(serve("clone"));
  expect(await alpha.ended, alpha.text()).toEqual([1, null]);
  expect(alpha.text().trim().split("\n").at(-1)).toMatch(
    /^labwright serve: another service has begun with the installation-id of .*, so this one has ended/,
  );
});
