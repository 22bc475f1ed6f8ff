import type { PostgresAddress } from "../../src/service/store/address/address.ts";
import type { MachineStore } from "../../src/service/store/machines.ts";
import type { PostgresOptions, postgresStore } from "../../src/service/store/postgres/postgres-store.ts";
import type { Store } from "../../src/service/store/store.ts";

/** The version of the tables that the release before knows, and its protocol between machines. */
export const before = { version: 7, protocol: 1 } as const;

/** The calls of the release before that this one has changed. */
interface MachinesBefore extends Pick<MachineStore, "own" | "list" | "elsewhere"> {
  report(facts: unknown): Promise<void>;
  owners(): Promise<ReadonlyMap<string, number>>;
}

/**
 * Opens the store of the release before: its code, which scripts/keep-release.ts has kept. Services of this release need calls that it does not have: they
 * get them here, in terms of its own ones, which alone use the database.
 */
export async function storeOfReleaseBefore(address: PostgresAddress, options: PostgresOptions): ReturnType<typeof postgresStore> {
  const file: string = new URL("postgres-store.js", import.meta.url).href;
  const kept = (await import(file)) as { readonly postgresStore: typeof postgresStore };
  const store = await kept.postgresStore(address, options);
  if (store.shared !== undefined) addMachineCalls(store, store.shared.machines as unknown as MachinesBefore);
  const refused = () => Promise.reject(new Error("the release before has no reservations"));
  return { ...store, reservations: { list: () => [], add: refused, delete: refused, purge: async () => undefined } };
}

function addMachineCalls({ labs }: Store, machines: MachinesBefore): void {
  const report = machines.report.bind(machines);
  const ownerOf = (lab: string) => machines.elsewhere(lab) ?? machines.own;
  Object.assign(machines, {
    report: async (facts: unknown) => {
      await report(facts);
      return machines.list().some(({ number }) => number === machines.own);
    },
    read: async () => machines.list(),
    members: async () => [],
    isOrphaned: async (lab: string) => ![...(await machines.owners()).keys()].includes(lab),
    isAnySilent: false,
    knownOwner: ownerOf,
    labsOf: (machine: number) =>
      new Set(
        labs
          .list()
          .map(({ path }) => path)
          .filter((path) => ownerOf(path) === machine),
      ),
    countLabs: async (machine: number) => [...(await machines.owners()).values()].filter((owner) => owner === machine).length,
  });
}
