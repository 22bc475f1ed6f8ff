import { existsSync, readFileSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import type { AccountRow } from "../hosts/host-accounts.ts";
import { readAccountFile, writeAccountStore, writeAccounts } from "../hosts/local/accounts/file-accounts.ts";
import type { SharedStore } from "../service/store/store.ts";

/**
 * Lets a service use the accounts of its database. Those of its state directory move there if the database has none; otherwise they stay in a file of their
 * own. May be cut off at any time: the next start goes on.
 * @param file users.json of the state directory
 */
export async function useSharedAccounts(file: string, { accounts, shown }: SharedStore, warn: (text: string) => void): Promise<void> {
  const found = existsSync(file) ? readAccountFile(file) : undefined;
  if (found !== undefined && "accounts" in found) {
    const own = found.accounts;
    const stay = await accounts.change(async (there) => {
      if (there.length === 0) return { accounts: own, result: [] };
      return { result: own.filter((one) => !there.some((other) => isSame(one, other))).map(({ name }) => name) };
    });
    const kept = keptFile(file);
    renameSync(file, kept);
    if (stay.length > 0)
      warn(`the accounts are those of ${shown}; these of the state directory are not among them, and stay in ${kept}: ${stay.join(", ")}`);
  }
  if (found === undefined || !("store" in found) || found.store !== shown) await writeAccountStore(file, shown);
}

/**
 * Returns the file that keeps the accounts of a state directory from before its service used a database. A kept file with other content is
 * not replaced, because it may have the only copy of an account.
 */
function keptFile(file: string): string {
  for (let number = 1; ; number += 1) {
    const kept = join(dirname(file), `users-before-store${number === 1 ? "" : `-${number}`}.json`);
    if (!existsSync(kept) || readFileSync(kept).equals(readFileSync(file))) return kept;
  }
}

/** Writes the accounts of a database into a state directory, whose service will no longer use it. Throws if there are other accounts. */
export async function returnAccounts(file: string, accounts: readonly AccountRow[]): Promise<void> {
  const found = existsSync(file) ? readAccountFile(file) : undefined;
  const others =
    found !== undefined && "accounts" in found ? found.accounts.filter((one) => !accounts.some((other) => isSame(one, other))) : [];
  if (others.length > 0)
    throw new Error(
      `${file} has accounts that the database does not have (${others.map(({ name }) => name).join(", ")}): move the file away`,
    );
  await writeAccounts(file, accounts);
}

function isSame(one: AccountRow, other: AccountRow): boolean {
  return one.name === other.name && one.hash === other.hash;
}
