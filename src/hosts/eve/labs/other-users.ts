import { Failure } from "../../../contract/errors.ts";
import type { EveAccount } from "../account/account.ts";
import { entriesOf, numberOf, recordOf, textOf } from "../api/answer.ts";
import type { EveLabPath } from "../read/lab-path.ts";
import { type NodeStatus, nodeStatuses, readNodes } from "../read/lab-read.ts";
import { findClashes } from "./clashes.ts";
import type { EvePlace } from "./world.ts";

interface UserRow {
  readonly user: string;
  /** File of the lab that the user opened last in the host's pages. */
  readonly lab: string | undefined;
  /** Whether the user's session with the host is active. */
  readonly alive: boolean;
}

/** The use of a lab by another user of the host. */
export interface OtherUse {
  readonly user: string;
  /** Whether the user has the lab open in an active session. */
  readonly open: boolean;
  /** Whether it is the lab that the user opened last, in any session. */
  readonly opened: boolean;
  /** Ids of its nodes that run for this user. `undefined`: not known, because the user is not signed in here. */
  readonly running: readonly number[] | undefined;
}

/** Returns the users of the host, from its user table. */
export class OtherUsers {
  readonly #known = new Map<string, { readonly at: number; readonly rows: Promise<readonly UserRow[]> }>();
  /** By user and lab. */
  readonly #uses = new Map<string, { readonly at: number; readonly uses: Promise<readonly OtherUse[]> }>();

  /** Returns all users except the account's own. Empty if the account may not list them. */
  async list(account: EveAccount, maxAgeMs: number): Promise<readonly UserRow[]> {
    const now = performance.now();
    const known = this.#known.get(account.user);
    const rows = known !== undefined && now - known.at < maxAgeMs ? known.rows : listUsers(account);
    if (rows !== known?.rows) {
      this.#known.set(account.user, { at: now, rows });
      rows.catch(() => this.#known.delete(account.user));
    }
    return (await rows).filter(({ user }) => user !== account.user);
  }

  /** The use of the lab by others. */
  uses(place: EvePlace, at: EveLabPath, maxAgeMs: number): Promise<readonly OtherUse[]> {
    const key = `${place.account.user} ${at.path}`;
    const now = performance.now();
    const known = this.#uses.get(key);
    if (known !== undefined && now - known.at < maxAgeMs) return known.uses;
    const uses = otherUses(place, at, maxAgeMs);
    this.#uses.delete(key);
    this.#uses.set(key, { at: now, uses });
    uses.catch(() => this.#uses.delete(key));
    if (this.#uses.size > 500) this.#uses.delete(this.#uses.keys().next().value ?? "");
    return uses;
  }
}

async function listUsers(account: EveAccount): Promise<readonly UserRow[]> {
  const answer = await account.call({ path: "/api/users/", read: true });
  const now = (answer.time ?? Date.now()) / 1000;
  return entriesOf(answer.data).map(([key, value]) => {
    const { username, lab, session } = recordOf(value);
    return { user: textOf(username) ?? key, lab: textOf(lab), alive: (numberOf(session) ?? 0) > now };
  });
}

/**
 * Returns the use of the lab by other users. The host reports the power of nodes for the asking user alone: of users that are signed in at this process
 * it is read with their own session, of others only the lab that they opened last is known.
 */
async function otherUses(place: EvePlace, at: EveLabPath, maxAgeMs: number): Promise<readonly OtherUse[]> {
  const { world, account } = place;
  if (!world.edition.sharedNames) return [];
  const rows = await world.users.list(account, maxAgeMs);
  return Promise.all(
    rows.map(async ({ user, lab, alive }): Promise<OtherUse> => {
      const opened = lab === at.file;
      const running = await runningFor(place, at, user);
      // Their session is the one of this process, and no browser has the lab open.
      return { user, open: opened && alive && running === undefined, opened, running };
    }),
  );
}

async function runningFor(place: EvePlace, at: EveLabPath, user: string): Promise<readonly number[] | undefined> {
  const account = place.world.accounts.get(user);
  if (account === undefined) return undefined;
  const mark = place.world.owners.of(account).mark();
  const answer = await account.peek(`/api/labs${at.url}/nodes`);
  if (answer === undefined || answer.status >= 300) return undefined;
  const nodes = nodeStatuses(answer.data);
  const clashes = await findClashes({ ...place, account }, at, nodes, mark, place.world.timing.othersMs);
  return nodes.flatMap(({ id, status }) => (status < 2 || clashes.get(id)?.certain === true ? [] : [id]));
}

export interface Removal {
  /** True: the whole lab is deleted or renumbered, so that nobody else may have it open. False: some of its nodes are deleted. */
  readonly whole: boolean;
  /** The owner of the lab. `undefined`: not known, so it may be any user. */
  readonly owner: string | undefined;
  readonly force: boolean;
  /** Called with a node and a warning about processes that cannot be ended any more. */
  readonly warn: (node: string, message: string) => void;
}

/**
 * Throws lab_in_use if nodes of the lab run or may run for another user, or if that user has the lab open: the host would delete the nodes, and
 * nothing could end their processes. With `force`, warns of each instead.
 */
export async function refuseInUse(place: EvePlace, at: EveLabPath, { whole, owner, force, warn }: Removal): Promise<void> {
  const uses = await place.world.users.uses(place, at, 0);
  if (uses.length === 0) return;
  const nodes = await nodesIfReadable(place, at);
  if (nodes === null) return;
  const suspects = uses.filter(({ user, opened, running }) => running === undefined && (opened || owner === undefined || owner === user));
  const may = suspects.length > 0 && (await someRunElsewhere(place, nodes)) ? suspects.map(({ user }) => user) : [];
  const reasons = uses.flatMap(({ user, open, running = [] }) => {
    const names = running.map((id) => nameOf(nodes, id));
    if (names.length > 0) return [`${names.join(", ")} ${names.length === 1 ? "runs" : "run"} for user ${user}`];
    if (open && whole) return [`user ${user} has it open`];
    return may.includes(user) ? [`nodes may run for user ${user}, which the host does not show`] : [];
  });
  if (reasons.length === 0) return;
  if (!force) {
    const users = uses.flatMap(({ user, open, running = [] }) =>
      (open && whole) || running.length > 0 || may.includes(user) ? [user] : [],
    );
    throw new Failure(
      "lab_in_use",
      `lab ${at.path} is used by another user of the host: ${reasons.join("; ")}. The user stops the nodes and closes the lab first; ` +
        "labwright destroy --force removes a lab all the same, and cannot end those nodes",
      { data: { users } },
    );
  }
  const left = "nothing but an administrator of the host ends it there";
  for (const { user, running = [] } of uses) {
    for (const id of running) warn(nameOf(nodes, id), `${nameOf(nodes, id)} goes on running for user ${user} of the host: ${left}`);
    if (may.includes(user)) warn("", `nodes of ${at.path} that run for user ${user} of the host go on running: ${left}`);
  }
}

/** Returns an empty list for a lab that the host cannot read, `null` if there is no such lab. */
async function nodesIfReadable({ account }: EvePlace, at: EveLabPath): Promise<readonly NodeStatus[] | null> {
  try {
    return await readNodes(account, at);
  } catch (error) {
    if (error instanceof Failure && error.code === "host_error") return [];
    if (error instanceof Failure && error.code === "lab_not_found") return null;
    throw error;
  }
}

const allTypes = ["iol", "dynamips", "qemu", "docker", "vpcs"];

/** Returns whether more nodes of these types run on the host than nodes of the users who are signed in here. */
async function someRunElsewhere({ world, account }: EvePlace, nodes: readonly NodeStatus[]): Promise<boolean> {
  const types = new Set(nodes.length === 0 ? allTypes : nodes.map(({ data }) => textOf(data.type) ?? ""));
  const counts = recordOf(await account.get("/api/status", "count the nodes that run on the host"));
  const up = new Map([...types].map((type) => [type, 0]));
  const surplus = () => [...up].some(([type, count]) => (numberOf(counts[type]) ?? 0) > count);
  if (!surplus()) return false;
  for (const each of new Set([account, ...world.accounts.values()])) {
    for (const type of (await world.others.running(each)).values()) if (up.has(type)) up.set(type, (up.get(type) ?? 0) + 1);
  }
  return surplus();
}

function nameOf(nodes: readonly NodeStatus[], id: number): string {
  return nodes.find((node) => node.id === id)?.name ?? String(id);
}
