import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { SerialQueue } from "../../../base/keyed-queue.ts";
import { Failure } from "../../../contract/errors.ts";
import { writeFileAtomic } from "../../../files/write-file-atomic.ts";
import type { AccountRow, AccountStore } from "../../host-accounts.ts";
import { fileMarkNow } from "../files/file-mark.ts";

/** The content of a users.json: accounts, or the name of the database that has them. */
export type AccountFile = { readonly accounts: readonly AccountRow[] } | { readonly store: string };

/**
 * Accounts in a file of mode 0600. It is read again when it changes, so that other processes may add users.
 * @param file absolute path of users.json; need not exist
 */
export function fileAccounts(file: string): AccountStore {
  let known: { readonly mark: string | undefined; readonly accounts: readonly AccountRow[] } = { mark: undefined, accounts: [] };
  const changes = new SerialQueue();
  const list = () => {
    const mark = fileMarkNow(file);
    if (mark !== known.mark) known = { mark, accounts: mark === undefined ? [] : accountsIn(file) };
    return known.accounts;
  };
  return {
    list,
    mark: () => fileMarkNow(file) ?? "",
    change: (edit) =>
      changes.run(async () => {
        const { accounts, result } = await edit(list());
        if (accounts !== undefined) await writeAccounts(file, accounts);
        return result;
      }),
  };
}

export async function writeAccounts(file: string, accounts: readonly AccountRow[]): Promise<void> {
  await writeFileAtomic(file, `${JSON.stringify({ version: 1, users: sortedAccounts(accounts) }, null, 2)}\n`, 0o600);
}

/** Writes the name of the database in place of the accounts: a service or a command without it must not make accounts of its own. */
export async function writeAccountStore(file: string, store: string): Promise<void> {
  await writeFileAtomic(file, `${JSON.stringify({ version: 2, store }, null, 2)}\n`, 0o600);
}

export function sortedAccounts(accounts: readonly AccountRow[]): readonly AccountRow[] {
  return accounts.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function accountsIn(file: string): readonly AccountRow[] {
  const found = readAccountFile(file);
  if ("accounts" in found) return found.accounts;
  throw new Failure("host_error", `the accounts are in the database ${found.store}: add --store ${found.store}`);
}

/** Reads a file that exists. Throws host_error if it is damaged. */
export function readAccountFile(file: string): AccountFile {
  try {
    const { users, store } = JSON.parse(readFileSync(file, "utf8")) as { users?: readonly AccountRow[]; store?: unknown };
    if (typeof store === "string") return { store };
    if (users === undefined) throw new Error("there are no users");
    for (const { name, role, hash } of users) {
      if (typeof name !== "string" || typeof hash !== "string" || !["admin", "user", "viewer"].includes(role))
        throw new Error("a user is malformed");
    }
    return { accounts: users };
  } catch (cause) {
    const { message } = cause as Error;
    throw new Failure("host_error", `${basename(file)} does not read: an administrator must restore it`, {
      data: { host: { message } },
      cause: new Error(`${file}: ${message}`, { cause }),
    });
  }
}
