/**
 * Machines of a fleet that only read, all in this process: `fleet-readers.ts STORE FIRST COUNT`. Each one has the connection for notices and one for calls, reads the changed
 * labs and jobs, and reports, with the statements and at the times of a service; it has other names of connections, which the bench does not cut, and keeps no records, so that a hundred of them take little memory and time. Prints "ready".
 */
import { randomUUID } from "node:crypto";
import { Client } from "pg";
import { postgresAddress } from "../src/service/store/address/address.ts";
import { sql as jobs } from "../src/service/store/postgres/jobs.ts";
import { sql as labs } from "../src/service/store/postgres/labs.ts";
import { sql as machines } from "../src/service/store/postgres/machines.ts";

const [storeUrl = "", first = "0", count = "1"] = process.argv.slice(2);
const { config } = postgresAddress(storeUrl);
/** As those of a service: in a fleet of 100 machines, changed labs are read once a second. */
const [reportMs, paceMs, maxRead] = [3_000, 1_000, 200];

async function connected(name: string): Promise<Client> {
  const client = new Client({ ...config, application_name: name } as ConstructorParameters<typeof Client>[0]);
  await client.connect();
  return client;
}

async function openReader(number: number): Promise<void> {
  const [notices, calls] = [await connected("bench listens"), await connected("bench reads")];
  const installation = randomUUID();
  const facts = () =>
    JSON.stringify({ version: "bench", processors: 16, load: Math.random() * 16, memory: 65_536, availableMemory: 60_000 });
  const name = `reader${String(number).padStart(3, "0")}`;
  // Cordoned: it runs no service that could take a lab.
  await calls.query(
    `INSERT INTO machines (name, installation, url, state, labels, facts, joined_at, seen_at) VALUES ($1, $2, $3, 'cordoned', '{}', $4, clock_timestamp(), clock_timestamp())`,
    [name, installation, `https://127.99.${number >> 8}.${number & 255}:8444`, facts()],
  );
  const changed = { lab: new Set<string>(), job: new Set<string>() };
  notices.on("notification", ({ payload = "" }) => {
    const [, kind = "", ...key] = payload.split(" ");
    if (kind === "lab" || kind === "job") changed[kind].add(key.join(" "));
  });
  await notices.query("LISTEN labwright");
  const read = async (keys: Set<string>, statement: { readonly name: string; readonly text: string }) => {
    const all = [...keys];
    keys.clear();
    for (let at = 0; at < all.length; at += maxRead) await calls.query({ ...statement, values: [all.slice(at, at + maxRead)] });
  };
  const every = (ms: number, work: () => Promise<unknown>) => {
    const again = () => void work().finally(() => setTimeout(again, ms));
    // Not all at the same moment.
    setTimeout(again, Math.random() * ms);
  };
  every(paceMs, async () => {
    await read(changed.lab, labs.some);
    await read(changed.job, jobs.some);
  });
  every(reportMs, async () => {
    await calls.query({ ...machines.report, values: [installation, facts()] });
    await calls.query({ ...machines.list, values: [[]] });
  });
}

for (let index = 0; index < Number(count); index++) await openReader(Number(first) + index);
console.log("ready");
process.once("SIGTERM", () => process.exit(0));
