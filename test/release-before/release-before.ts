import type { PostgresAddress } from "../../src/service/store/postgres/address.ts";
import type { PostgresOptions, postgresStore } from "../../src/service/store/postgres/postgres-store.ts";

/** The version of the tables that the release before knows, and its protocol between machines. */
export const before = { version: 7, protocol: 1 } as const;

/** Opens the store of the release before: its code, which scripts/keep-release.ts has kept. */
export async function storeOfReleaseBefore(address: PostgresAddress, options: PostgresOptions): ReturnType<typeof postgresStore> {
  const file: string = new URL("postgres-store.js", import.meta.url).href;
  const kept = (await import(file)) as { readonly postgresStore: typeof postgresStore };
  return kept.postgresStore(address, options);
}
