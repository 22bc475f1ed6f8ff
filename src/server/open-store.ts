import { join } from "node:path";
import type { Log } from "../service/common/log.ts";
import { postgresAddress } from "../service/store/address/address.ts";
import type { MachineStore } from "../service/store/machines.ts";
import { postgresStore } from "../service/store/postgres/postgres-store.ts";
import { sqliteStore } from "../service/store/sqlite.ts";
import type { Store } from "../service/store/store.ts";
import { refuseCopy } from "./fleet/copied-state.ts";
import { installationOf } from "./process/installation.ts";
import type { ServeOptions } from "./process/options.ts";

/**
 * Opens the database: the file in the state directory, or PostgreSQL.
 * @param labs number of labs in the state directory whose records it must have. Throws if it has none at all.
 */
export async function openStore(
  { stateDir, store: url, storePasswordFile, advertise }: ServeOptions,
  labs: number,
  log: Log,
): Promise<Store> {
  const some = labs === 1 ? "a lab" : `${labs} labs`;
  if (url === undefined) {
    const file = join(stateDir, "labwright.db");
    return sqliteStore(file, {
      whenNew: (state) => {
        if (labs > 0)
          throw lost(`the database ${file} is ${state}, and ${stateDir} contains ${some}: restore the database from a backup; or`);
      },
    });
  }
  const address = postgresAddress(url, { passwordFile: storePasswordFile });
  // The lease of a copy would end that of the machine, whose changes would stop.
  const beforeLease = (machines: MachineStore) =>
    advertise === undefined ? undefined : refuseCopy({ stateDir, machines, url: advertise });
  const store = await postgresStore(address, { installation: installationOf(stateDir), log, beforeLease });
  if (labs === 0 || store.labs.list().length > 0) return store;
  await store.close();
  throw lost(
    `the database ${address.shown} has no labs, and ${stateDir} contains ${some}: restore the database from a backup, or start without --store; or`,
  );
}

function lost(what: string): Error {
  return new Error(
    `${what} start once with labwright serve --adopt, which creates a new one: labs keep running, only admins see them until labwright adopt returns ` +
      "them to their owners, and users must sign in again",
  );
}
