import { join } from "node:path";
import { Failure } from "../../../contract/errors.ts";
import type { AccountStore } from "../../host-accounts.ts";
import { askSecret, readSecret } from "../machine/ask-secret.ts";
import { commandLine, UsageError, unexpectedText } from "../machine/command-line.ts";
import { localPaths } from "../machine/paths.ts";
import { type OwnedLabs, ownedLabs } from "./owned-labs.ts";
import { passwordProblem } from "./password-rule.ts";
import { type LocalUser, openUsers, type Role, type Users, usersOf } from "./users.ts";

const help = `Usage: labwright users list [--format json]
       labwright users add NAME [--role ROLE] [--password-stdin]
       labwright users passwd NAME [--password-stdin]
       labwright users role NAME ROLE
       labwright users remove NAME

Manages the accounts of this machine's embedded host. Needs write permission for the service's state directory; a running service uses the
change at once. A new password has at least 8 characters and differs from the name. Labs and kept disks of a removed account stay:
a new account with the same name owns them.

  --role ROLE                  admin, user (default) or viewer
  --password-stdin             read the password from standard input; default: LABWRIGHT_PASSWORD, otherwise a question
  --store postgres://URL       the database of services that share their accounts, as for labwright serve; default: LABWRIGHT_STORE
  --store-password-file FILE   the password of that database; otherwise PGPASSWORD or ~/.pgpass
  --format FORMAT              table or json
  --help`;

/** Opens the accounts of a database. @param store its URL */
export type OpenSharedAccounts = (store: string, passwordFile: string | undefined) => Promise<AccountStore & AsyncDisposable>;

const roles: readonly Role[] = ["admin", "user", "viewer"];

async function main(openShared: OpenSharedAccounts): Promise<void> {
  const { values, positionals, json } = commandLine({
    role: { type: "string" },
    "password-stdin": { type: "boolean" },
    store: { type: "string" },
    "store-password-file": { type: "string" },
  });
  const [action, name, word, ...rest] = positionals;
  if (values.help === true || action === undefined) {
    console.log(help);
    return;
  }
  if (rest.length > 0 || (word !== undefined && action !== "role")) throw new UsageError(`"${rest[0] ?? word}" is one argument too many`);
  const { state } = localPaths(process.env, process.getuid?.() ?? 0);
  const store = values.store ?? (process.env.LABWRIGHT_STORE || undefined);
  await using shared =
    store === undefined ? undefined : await openShared(store, values["store-password-file"] ?? process.env.LABWRIGHT_STORE_PASSWORD_FILE);
  const users = shared === undefined ? openUsers(join(state, "users.json")) : usersOf(shared);
  const report = (user: LocalUser, what: string, more: object = {}) =>
    console.log(json ? JSON.stringify({ ...user, ...more }) : `${user.name}: ${what}`);
  switch (action) {
    case "list": {
      const all = await users.list();
      if (json) console.log(JSON.stringify(all, null, 2));
      else for (const { name, role, issuer } of all) console.log(`${name.padEnd(24)} ${role}${issuer === undefined ? "" : `  ${issuer}`}`);
      if (all.length === 0)
        console.error(
          `no accounts in ${store ?? state}. A service for another host, such as EVE-NG, has the users of that host: labwright host --users`,
        );
      return;
    }
    case "add": {
      const role = roleOf(values.role ?? "user");
      const user = { name: named(name), role };
      if ((await users.find(user.name)) !== null)
        throw new UsageError(
          `user ${user.name} exists already: labwright users passwd ${user.name} or labwright users role ${user.name} changes it`,
        );
      const given = await newPassword(user.name, values["password-stdin"] === true);
      const owned = await ownedLabs(state, user.name);
      await users.put(user.name, given, role);
      report(user, `added as ${role}`, ownedData(owned));
      if (hasAny(owned))
        console.error(`warning: ${user.name} now owns what an earlier account of this name left: ${ownedText(owned)}.\n${whatToDo(owned)}`);
      return;
    }
    case "passwd": {
      const user = await known(users, name);
      await users.put(user.name, await newPassword(user.name, values["password-stdin"] === true), user.role);
      return report(user, "has a new password");
    }
    case "role": {
      const user = await known(users, name);
      const role = roleOf(word ?? "");
      await users.setRole(user.name, role);
      return report({ ...user, role }, `is ${role} now, in sessions that are open too`);
    }
    case "remove": {
      const user = await known(users, name);
      const owned = await ownedLabs(state, user.name);
      await users.remove(user.name);
      report(user, "removed", ownedData(owned));
      if (hasAny(owned)) console.error(`still there: ${ownedText(owned)}; a new account ${user.name} would own them.\n${whatToDo(owned)}`);
      return;
    }
    default:
      throw new UsageError(`users has list, add, passwd, role and remove, not "${action}"`);
  }
}

function named(name: string | undefined): string {
  if (name === undefined)
    throw new UsageError("the name of the user is missing: write it after the action, such as labwright users passwd ann");
  return name;
}

async function known(users: Users, name: string | undefined): Promise<LocalUser> {
  const user = await users.find(named(name));
  if (user === null) throw new UsageError(`there is no user ${name}`);
  return user;
}

function roleOf(text: string): Role {
  const role = roles.find((one) => one === text);
  if (role === undefined) throw new UsageError(`a role is admin, user or viewer, not "${text}"`);
  return role;
}

function hasAny({ labs, keptDisks }: OwnedLabs): boolean {
  return labs.length + keptDisks.length > 0;
}

/** Fields of the JSON output; absent if there is nothing. */
function ownedData(owned: OwnedLabs): object {
  return hasAny(owned) ? { labs: owned.labs, kept_disks: owned.keptDisks } : {};
}

/** "2 labs (/a, /b) and the kept disks of 1 lab (/c)" */
function ownedText({ labs, keptDisks }: OwnedLabs): string {
  const count = (paths: readonly string[]) => `${paths.length} lab${paths.length === 1 ? "" : "s"} (${shortList(paths)})`;
  return [
    ...(labs.length > 0 ? [count(labs)] : []),
    ...(keptDisks.length > 0 ? [`the kept disks of ${count(keptDisks.map(({ lab }) => lab))}`] : []),
  ].join(" and ");
}

function shortList(paths: readonly string[]): string {
  const shown = paths.slice(0, 10).join(", ");
  return paths.length > 10 ? `${shown}, …` : shown;
}

function whatToDo({ labs, keptDisks }: OwnedLabs): string {
  return [
    ...(labs.length > 0 ? ["  labwright destroy --lab PATH, as an admin, removes a lab"] : []),
    ...(keptDisks.length > 0 ? ["  labwright disks, as an admin, lists kept disks; --remove ID removes them"] : []),
  ].join("\n");
}

/** Throws UsageError for a password that is too weak. */
async function newPassword(user: string, fromStdin: boolean): Promise<string> {
  const given = await password(user, fromStdin);
  const problem = passwordProblem(user, given);
  if (problem !== undefined) throw new UsageError(problem);
  return given;
}

/** Read from the terminal or stdin, never from the command line, which other users can see. */
async function password(user: string, fromStdin: boolean): Promise<string> {
  if (fromStdin) return readSecret();
  const given = process.env.LABWRIGHT_PASSWORD;
  if (given !== undefined && given !== "") return given;
  const asked = await askSecret(`Password of ${user}`);
  if (asked === undefined) throw new UsageError("no password: set LABWRIGHT_PASSWORD, or pipe it in with --password-stdin");
  return asked;
}

/** The command `labwright users`, with the arguments of the process. */
export async function usersCommand(openShared: OpenSharedAccounts): Promise<void> {
  try {
    await main(openShared);
  } catch (error) {
    process.exitCode = 1;
    if (error instanceof UsageError || error instanceof Failure) console.error(`error: ${error.message}`);
    else if ((error as NodeJS.ErrnoException).syscall !== undefined) console.error(unexpectedText(error));
    else throw error;
  }
}
