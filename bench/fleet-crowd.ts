/**
 * Machines of a fleet in one process, each with a memory host, a store and a server of its own: `fleet-crowd.ts STORE FIRST COUNT [TOKEN…]`. FIRST is the number of
 * the first machine, from 0; machine 0 begins the fleet and needs no token. Prints a line of JSON once all of them have joined.
 */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ownProtocol } from "../src/contract/fleet-protocol.ts";
import { memoryHost } from "../src/hosts/memory/memory-host.ts";
import { openFleet } from "../src/server/fleet/fleet.ts";
import { startServer } from "../src/server/start.ts";
import { fingerprintOf } from "../src/server/tls/certificate.ts";
import { selfSigned } from "../src/server/tls/self-signed.ts";
import { createService } from "../src/service/create-service.ts";
import { postgresAddress } from "../src/service/store/address/address.ts";
import { postgresStore } from "../src/service/store/postgres/postgres-store.ts";

/** The users who change labs. */
const userNames: readonly string[] = Array.from({ length: 20 }, (_, number) => `u${number}`);

/** A machine of the crowd, as its process reports it. */
export interface CrowdMachine {
  readonly name: string;
  readonly url: string;
  readonly pin: string;
}

const [storeUrl = "", first = "0", count = "1", ...tokens] = process.argv.slice(2);
const memory = 65_536;
const version = "bench";
const log = (level: string, text: string, fields?: object) => {
  if (level !== "info") console.error(`${level} ${text} ${JSON.stringify(fields ?? {})}`);
};
const made = selfSigned({ names: ["localhost"], from: new Date(Date.now() - 1_000), until: new Date(Date.now() + 1e8) });
const certificate = { ...made, fingerprint: fingerprintOf(made.certificate) };

async function openMachine(number: number, token: string | undefined): Promise<CrowdMachine> {
  const stateDir = mkdtempSync(join(tmpdir(), "labwright-bench-"));
  const store = await postgresStore(postgresAddress(storeUrl), { installation: stateDir, log });
  const name = `m${String(number).padStart(3, "0")}`;
  const fleet = await openFleet({
    stateDir,
    machines: store.shared!.machines,
    name,
    url: `https://127.98.${number >> 8}.${(number & 255) + 1}:8444`,
    token,
    version,
    // Each report differs a little, as on a real machine.
    facts: () => ({
      version,
      protocol: ownProtocol,
      processors: 16,
      load: Math.random() * 16,
      memory,
      availableMemory: memory - Math.floor(Math.random() * 2_000),
    }),
    log,
  });
  const host = memoryHost({
    users: [
      { name: "admin", password: "bench", role: "admin" },
      ...userNames.map((user) => ({ name: user, password: "bench", role: "user" as const })),
    ],
  });
  const service = createService({ host, store, log, version, fleet: fleet.calls });
  await service.recover();
  const server = await startServer({ service, certificate, version, fleet });
  return { name, url: server.url, pin: server.fingerprint };
}

const machines: CrowdMachine[] = [];
for (let index = 0; index < Number(count); index++) machines.push(await openMachine(Number(first) + index, tokens[index]));
console.log(JSON.stringify(machines));
process.once("SIGTERM", () => process.exit(0));
