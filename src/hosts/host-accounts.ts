import type { HostSession } from "./host.ts";

/** An account of a host whose users Labwright keeps. */
export interface AccountRow {
  readonly name: string;
  readonly role: HostSession["role"];
  /** `scrypt$N$r$p$salt$key`, salt and key in base64url; `oidc$` and a random text for a user without a password. */
  readonly hash: string;
  /** The identity of a user who signs in at a provider. */
  readonly oidc?: { readonly issuer: string; readonly subject: string };
}

/** An edit of all accounts. `accounts`: those afterwards; absent: they stay as they are. */
export type AccountEdit<Result> = (
  accounts: readonly AccountRow[],
) => Promise<{ readonly accounts?: readonly AccountRow[]; readonly result: Result }>;

/** The place of accounts: a file of one service, or a database that several services share. */
export interface AccountStore {
  /** Returns all accounts, from memory. */
  list(): readonly AccountRow[];
  /** Changes whenever an account may have changed. */
  mark(): string;
  /** Runs edits one after the other, also those of other services: each starts from the result of the one before. */
  change<Result>(edit: AccountEdit<Result>): Promise<Result>;
}
