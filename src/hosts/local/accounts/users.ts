import { createHash, randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { Failure } from "../../../contract/errors.ts";
import type { ExternalIdentity, HostAccounts } from "../../host.ts";
import type { AccountRow, AccountStore } from "../../host-accounts.ts";
import { freeName } from "./external-name.ts";
import { fileAccounts } from "./file-accounts.ts";

export type Role = "admin" | "user" | "viewer";

export interface LocalUser {
  readonly name: string;
  readonly role: Role;
  /** The provider at which the user signs in. Absent: the user has a password. */
  readonly issuer?: string;
}

/** The embedded host's own accounts, passwords as scrypt hashes. */
export interface Users {
  /** Returns `null` for a wrong name or password, after the same time for both. */
  check(name: string, password: string): Promise<LocalUser | null>;
  find(name: string): Promise<LocalUser | null>;
  list(): Promise<readonly LocalUser[]>;
  /** Returns the current account of a user. Open sessions check it. */
  readonly accounts: HostAccounts;
  /** Adds the user, or sets password and role of an existing user. Throws bad_request for an invalid name or password. */
  put(name: string, password: string, role: Role): Promise<void>;
  /**
   * Returns the name of the account of an identity. Makes the account if there is none, and sets its role. Unlike setRole, this may leave no admin: the
   * provider decides.
   */
  signInExternal(identity: ExternalIdentity, isTaken: (name: string) => Promise<boolean>): Promise<string>;
  /** Throws bad_request if no admin would be left. */
  setRole(name: string, role: Role): Promise<void>;
  /** Throws bad_request if no admin would be left. */
  remove(name: string): Promise<void>;
  /**
   * Creates the user `admin` if there is no user at all. Without a given password it generates a random one, returns it for the caller
   * to print, and stores it nowhere.
   */
  ensureFirstAdmin(options?: {
    readonly password?: string | undefined;
  }): Promise<{ readonly created: boolean; readonly password?: string }>;
}

/** Opens the accounts in a file. @param file absolute path of users.json; need not exist */
export function openUsers(file: string): Users {
  return usersOf(fileAccounts(file));
}

export function usersOf(store: AccountStore): Users {
  const read = () => store.list();
  /** Changes run one after the other: each starts from the result of the one before. */
  const change = <T>(edit: (users: readonly AccountRow[]) => Promise<{ users?: readonly AccountRow[]; result: T }>): Promise<T> =>
    store.change(async (accounts) => {
      const { users, result } = await edit(accounts);
      return { ...(users !== undefined && { accounts: users }), result };
    });

  return {
    check: async (name, password) => {
      const user = read().find((one) => one.name === name);
      // A user without a password takes as long as one with another password.
      const right = await verify(password, user?.oidc === undefined ? (user?.hash ?? nobody) : nobody);
      return user !== undefined && right ? { name: user.name, role: user.role } : null;
    },
    find: async (name) => {
      const user = read().find((one) => one.name === name);
      return user === undefined ? null : { name: user.name, role: user.role };
    },
    list: async () => read().map(({ name, role, oidc }) => ({ name, role, ...(oidc !== undefined && { issuer: oidc.issuer }) })),
    accounts: {
      mark: () => store.mark(),
      find: (name) => {
        const user = read().find((one) => one.name === name);
        return user === undefined ? null : { role: user.role, credential: createHash("sha256").update(user.hash).digest("hex") };
      },
    },
    put: async (name, password, role) => {
      if (!/^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/.test(name)) throw new Failure("bad_request", `"${name}" cannot be a user name`);
      if (password === "" || password.length > 1024) throw new Failure("bad_request", "a password has 1 to 1024 characters");
      const hash = await hashPassword(password);
      await change(async (users) => {
        const oidc = users.find((one) => one.name === name)?.oidc;
        if (oidc !== undefined)
          throw new Failure("bad_request", `${name} signs in at ${oidc.issuer} and has no password here: remove the user first`);
        return { users: [...users.filter((one) => one.name !== name), { name, role, hash }], result: undefined };
      });
    },
    signInExternal: ({ issuer, subject, names, role }, isTaken) =>
      change(async (users) => {
        const known = users.find(({ oidc }) => oidc?.issuer === issuer && oidc.subject === subject);
        if (known !== undefined) {
          const changed = users.map((one) => (one === known ? { ...one, role } : one));
          return { ...(known.role !== role && { users: changed }), result: known.name };
        }
        const used = new Set(users.map(({ name }) => name.toLowerCase()));
        const name = await freeName(names, async (one) => used.has(one) || (await isTaken(one)));
        const hash = `oidc$${randomBytes(16).toString("base64url")}`;
        return { users: [...users, { name, role, hash, oidc: { issuer, subject } }], result: name };
      }),
    setRole: (name, role) =>
      change(async (users) => ({
        users: withAdmin(
          users,
          users.map((one) => (one.name === name ? { ...one, role } : one)),
        ),
        result: undefined,
      })),
    remove: (name) =>
      change(async (users) => ({
        users: withAdmin(
          users,
          users.filter((one) => one.name !== name),
        ),
        result: undefined,
      })),
    ensureFirstAdmin: (options) =>
      change<{ created: boolean; password?: string }>(async (users) => {
        if (users.length > 0) return { result: { created: false } };
        const password = options?.password || randomBytes(15).toString("base64url");
        const hash = await hashPassword(password);
        return {
          users: [{ name: "admin", role: "admin", hash }],
          result: options?.password ? { created: true } : { created: true, password },
        };
      }),
  };
}

/** Returns the users after a change. Refuses a change that removes the last admin, because nobody could create another one. */
function withAdmin(before: readonly AccountRow[], after: readonly AccountRow[]): readonly AccountRow[] {
  const has = (users: readonly AccountRow[]) => users.some(({ role }) => role === "admin");
  if (has(after) || !has(before)) return after;
  throw new Failure("bad_request", "the last admin cannot be removed or get another role: make another user an admin first");
}

/** A guess takes 32 MiB and about 60 ms. */
const cost = { N: 2 ** 15, r: 8, p: 1 } as const;

async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  return hashText(salt, await derive(password, salt, 32, cost));
}

function hashText(salt: Buffer, key: Buffer): string {
  return ["scrypt", cost.N, cost.r, cost.p, salt.toString("base64url"), key.toString("base64url")].join("$");
}

async function verify(password: string, hash: string): Promise<boolean> {
  const [scheme, N, r, p, salt, key] = hash.split("$");
  if (scheme !== "scrypt" || salt === undefined || key === undefined) return false;
  const expected = Buffer.from(key, "base64url");
  const cost = { N: Number(N), r: Number(r), p: Number(p) };
  const found = await inTurn(() => derive(password, Buffer.from(salt, "base64url"), expected.length, cost));
  return timingSafeEqual(found, expected);
}

function derive(password: string, salt: Buffer, length: number, options: { N: number; r: number; p: number }): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password.normalize("NFC"), salt, length, { ...options, maxmem: 256 * options.N * options.r }, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });
}

/** A check takes 32 MiB and a thread of Node's small pool, which reads files too. */
const maxChecks = 2;
let checks = 0;
const waiting: (() => void)[] = [];

/** Runs at most `maxChecks` password checks at once; the others wait in a queue. */
async function inTurn<T>(check: () => Promise<T>): Promise<T> {
  if (checks < maxChecks) checks += 1;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  try {
    return await check();
  } finally {
    const next = waiting.shift();
    if (next === undefined) checks -= 1;
    else next();
  }
}

/** A hash that no password matches. A login of an unknown user takes as long as one of a known user, also the first time. */
const nobody = hashText(randomBytes(16), randomBytes(32));
