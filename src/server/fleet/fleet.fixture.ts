import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, storeOfReleaseBefore } from "../../../test/release-before/release-before.ts";
import { RawClient } from "../../../test/wire/raw-client.ts";
import { Failure } from "../../contract/errors.ts";
import { ownProtocol } from "../../contract/fleet-protocol.ts";
import type { Host } from "../../hosts/host.ts";
import { memoryHost } from "../../hosts/memory/memory-host.ts";
import { noneHost } from "../../hosts/none/none-host.ts";
import { createService } from "../../service/create-service.ts";
import type { Service } from "../../service/service.ts";
import type { PostgresAddress } from "../../service/store/address/address.ts";
import { postgresStore } from "../../service/store/postgres/postgres-store.ts";
import type { Store } from "../../service/store/store.ts";
import { type RunningServer, startServer } from "../start.ts";
import { fingerprintOf } from "../tls/certificate.ts";
import { selfSigned } from "../tls/self-signed.ts";
import { withoutLabs } from "./facts.ts";
import { type Fleet, openFleet } from "./fleet.ts";

/** A service of a fleet with a memory host, as a machine of its own would be. */
export interface Member extends AsyncDisposable {
  readonly name: string;
  readonly store: Store;
  readonly fleet: Fleet;
  readonly service: Service;
  readonly host: Host;
  readonly server: RunningServer;
  /** Address at which the other machines reach it. */
  readonly url: string;
  /** Lines of the service's log. */
  readonly log: string[];
  readonly stateDir: string;
  /** A client of this member; the token is valid at all members. */
  client(token: string | null): RawClient;
  login(user: string): Promise<string>;
  /** Reports at once that this memory is free, MiB, of 1,000. */
  hasFree(memory: number): Promise<void>;
  /** Whether it has noticed that it was removed from the fleet. */
  isRemoved(): boolean;
  /** Ends without leaving the fleet, as after a crash: its lease and its row stay. */
  crash(): Promise<void>;
}

export interface MemberOptions {
  readonly name: string;
  readonly address: PostgresAddress;
  readonly token?: string;
  /** Of an earlier member that has crashed. */
  readonly stateDir?: string;
  /** Number of the loopback address of its member listener. */
  readonly place: number;
  /** Plays the release before: its store, and its protocol between machines. */
  readonly isBefore?: boolean;
  /** Number of its protocol between machines. */
  readonly protocol?: number;
  /** false: it is a machine of `--host none`. */
  readonly runsLabs?: boolean;
}

const users = [
  { name: "admin", password: "admin", role: "admin" },
  { name: "ann", password: "ann", role: "user" },
  { name: "bob", password: "bob", role: "user" },
] as const;

/** The same users, for a member without labs. The other members check no credentials. */
const noAccountChanges: Parameters<typeof noneHost>[0] = {
  check: async (name, password) => users.find((one) => one.name === name && one.password === password) ?? null,
  find: async (name) => users.find((one) => one.name === name) ?? null,
  list: async () => users,
  accounts: {
    mark: () => "",
    find: (name) => {
      const found = users.find((one) => one.name === name);
      return found === undefined ? null : { role: found.role, credential: name };
    },
  },
  userChanges: { add: unchanged, setPassword: unchanged, setRole: unchanged, remove: unchanged },
  externalUsers: { signIn: unchanged },
};

async function unchanged(): Promise<never> {
  throw new Failure("bad_request", "the users of this test do not change");
}

/** An address of the loopback that no other test process has. */
function addressOf(place: number): string {
  return `127.${192 + ((process.pid >> 14) & 31)}.${(process.pid >> 6) & 255}.${((process.pid & 63) << 2) + place}`;
}

export async function openMember({
  name,
  address,
  token,
  stateDir = mkdtempSync(join(tmpdir(), "labwright-member-")),
  place,
  isBefore = false,
  protocol = isBefore ? before.protocol : ownProtocol,
  runsLabs = true,
}: MemberOptions): Promise<Member> {
  const log: string[] = [];
  const write = (level: string, text: string, fields?: object) => void log.push(`${level} ${text} ${JSON.stringify(fields ?? {})}`);
  const store = await (isBefore ? storeOfReleaseBefore : postgresStore)(address, {
    installation: `installation of ${stateDir}`,
    log: write,
  });
  const url = `https://${addressOf(place)}:8444`;
  let availableMemory = 1_000;
  const version = `0.${protocol}.0`;
  // The first releases do not report their protocol.
  const size = () => ({ version, ...(protocol > 1 && { protocol }), processors: 2, load: 0, memory: 1_000, availableMemory });
  const facts = () => (runsLabs ? size() : withoutLabs(size()));
  let isRemoved = false;
  const fleet = await openFleet({
    facts,
    stateDir,
    machines: store.shared!.machines,
    name,
    url,
    token,
    version,
    protocol,
    onRemoved: () => {
      isRemoved = true;
    },
    probes: { everyMs: 200, againMs: 100 },
    log: write,
  }).catch(async (error) => {
    await store.close();
    throw error;
  });
  const host = runsLabs ? memoryHost({ users }) : noneHost(noAccountChanges);
  const service = createService({ host, store, log: write, version, fleet: fleet.calls, closeWaitMs: 200 });
  await service.recover();
  const made = selfSigned({ names: ["localhost"], from: new Date(Date.now() - 1_000), until: new Date(Date.now() + 1e9) });
  const server = await startServer({
    service,
    certificate: { ...made, fingerprint: fingerprintOf(made.certificate) },
    version,
    fleet,
    headerWaitMs: 2_000,
    graceMs: 200,
  });
  const clients: RawClient[] = [];
  const client = (bearer: string | null) => {
    const opened = new RawClient(server.url, bearer);
    clients.push(opened);
    return opened;
  };
  const crash = async () => {
    for (const one of clients.splice(0)) one[Symbol.dispose]();
    fleet.close();
    await server.close();
  };
  return {
    name,
    store,
    fleet,
    service,
    host,
    server,
    url,
    log,
    stateDir,
    client,
    login: async (user) => (await client(null).post("/api/v1/login", { username: user, password: user })).json.data.token as string,
    hasFree: async (memory) => {
      availableMemory = memory;
      await store.shared!.machines.report(facts());
    },
    isRemoved: () => isRemoved,
    crash,
    [Symbol.asyncDispose]: async () => {
      await crash();
      await service.close();
      await host.close();
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}
