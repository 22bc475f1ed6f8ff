/** The program of `labwright users`: manages the accounts of the embedded host, in its state directory or in a database. */

import { usersCommand } from "../hosts/local/accounts/users-command.ts";
import { UsageError } from "../hosts/local/machine/command-line.ts";

await usersCommand(async (store, passwordFile) => {
  // Only for a database: the client takes time to load.
  const { postgresAddress } = await import("../service/store/address/address.ts");
  const { postgresAccounts } = await import("../service/store/postgres/accounts.ts");
  try {
    return await postgresAccounts(postgresAddress(store, { passwordFile }));
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
});
