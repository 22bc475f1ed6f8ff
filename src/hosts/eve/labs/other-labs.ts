import { parallel } from "../../../base/parallel.ts";
import { Failure } from "../../../contract/errors.ts";
import type { EveAccount } from "../account/account.ts";
import { type EveAnswer, entriesOf, numberOf, recordOf, textOf } from "../api/answer.ts";
import { type EveLabPath, encodePath } from "../read/lab-path.ts";
import { otherStatuses } from "../read/lab-read.ts";
import { type LabListing, type ListedLab, listLabs } from "./lab-listing.ts";

/** Ids to avoid: other labs of the user have them, and nodes with the same id cannot run at the same time. */
export interface TakenIds {
  readonly nodes: ReadonlySet<number>;
  readonly networks: ReadonlySet<number>;
  /** Numbers on whose console port something listens, as far as it was looked at. */
  readonly busy?: ReadonlySet<number>;
}

interface KnownLab {
  readonly written: number | undefined;
  readonly nodes: ReadonlyMap<number, string>;
  readonly networks: ReadonlySet<number>;
}

/** A lab that could not be read. */
interface UnreadLab {
  readonly at: number;
  readonly written: number | undefined;
  /** How often in a row. */
  readonly times: number;
}

interface KnownLabs {
  readonly labs: readonly (readonly [path: string, lab: KnownLab])[];
  /** Whether all labs could be read in time. */
  readonly isComplete: boolean;
}

/** Limits of each read of another lab: the giant lab of one user must not delay the requests of another. */
const otherLabMs = 5_000;
const otherLabBytes = 4 * 1024 * 1024;
/** How long an unreadable lab is left out while its file is unchanged, ms. Doubles each time. */
const [unreadMs, maxUnreadMs] = [60_000, 3_600_000];
/** How long one request waits for the reads of all other labs, ms. A status is answered without the rest, and the next one continues the reads. */
const [statusMs, changeMs] = [3_000, 30_000];

/**
 * Caches the ids of other labs until their files change. On Community Edition, ports, interfaces and bridges of running nodes are named by user and
 * id, so that labs of one user with the same ids cannot run at the same time.
 */
export class OtherLabs {
  readonly #known = new Map<string, KnownLab>();
  readonly #unread = new Map<string, UnreadLab>();
  /** The lab id of each lab. */
  readonly #labIds = new Map<string, { readonly written: number | undefined; readonly uuid: string | undefined }>();
  readonly #reading = new Map<string, Promise<KnownLab | undefined>>();
  /** The last list of labs of each user. */
  readonly #listings = new Map<string, { readonly at: number; readonly listing: Promise<LabListing> }>();

  /** Returns the ids of all labs except this one. */
  async taken(account: EveAccount, path: string): Promise<TakenIds> {
    const { labs } = await this.#read(account, path);
    return {
      nodes: new Set(labs.flatMap(([, lab]) => [...lab.nodes.keys()])),
      networks: new Set(labs.flatMap(([, lab]) => [...lab.networks])),
    };
  }

  /**
   * Returns the nodes of other labs with these numbers, by number and path. @param maxAgeMs maximum age of the list of labs. 0: for a change, which
   * waits longer
   */
  async namesakes(
    account: EveAccount,
    path: string,
    ids: ReadonlySet<number>,
    maxAgeMs: number,
    waitMs = maxAgeMs === 0 ? changeMs : statusMs,
  ): Promise<Namesakes> {
    const found = new Map<number, Namesake[]>();
    const { labs, isComplete } = await this.#read(account, path, maxAgeMs, waitMs);
    for (const [lab, { nodes }] of labs) {
      for (const id of ids) {
        const node = nodes.get(id);
        if (node !== undefined) found.set(id, [...(found.get(id) ?? []), { lab, node }]);
      }
    }
    return { found, isComplete };
  }

  /** Returns the numbers that run for the account's user, with the type of their node. A number of several labs counts once. */
  async running(account: EveAccount): Promise<ReadonlyMap<number, string>> {
    const readable = (await listLabs(account)).labs.filter((lab) => !this.#isLeftOut(lab));
    const lists = await parallel(readable, 4, async (lab) => {
      const answer = await readOther(account, lab.path, "/nodes", { peeks: true });
      if (answer === undefined) this.#leaveOut(lab);
      return answer === undefined || answer.status >= 300 ? [] : otherStatuses(answer.data);
    });
    const up = lists.flat().filter(({ status }) => status >= 2);
    return new Map(up.map(({ id, data }) => [id, textOf(data.type) ?? ""]));
  }

  /** Labs that share a node id or a network id with these, each with the ids of its nodes that run. */
  async runningBeside(account: EveAccount, path: string, ids: TakenIds): Promise<readonly RunningLab[]> {
    const { labs } = await this.#read(account, path);
    const shared = labs.filter(
      ([, lab]) => [...lab.nodes.keys()].some((id) => ids.nodes.has(id)) || [...lab.networks].some((id) => ids.networks.has(id)),
    );
    const found = await parallel(shared, 4, async ([other, lab]) => {
      const answer = await readOther(account, other, "/nodes");
      const nodes = answer === undefined || answer.status >= 300 ? [] : otherStatuses(answer.data);
      return { path: other, lab, up: nodes.filter(({ status }) => status >= 2) };
    });
    return found.flatMap(({ path: other, lab, up }) =>
      up.length === 0 ? [] : [{ path: other, nodes: lab.nodes, networks: lab.networks, up: up.map(({ id }) => id) }],
    );
  }

  /** Returns the other labs with this lab id: their nodes have the same directories on the host. */
  async withId(account: EveAccount, path: string, uuid: string): Promise<readonly LabNodes[]> {
    const { labs } = await this.#read(account, path);
    const found = await parallel(labs, 4, async ([other, { written, nodes }]) => {
      return { path: other, nodes, uuid: await this.#idOf(account, { path: other, written }) };
    });
    return found.filter((lab) => lab.uuid === uuid);
  }

  /** Returns the path of the lab with this id: a lab that is moved or renamed on the host keeps its id. undefined even if time ran out. */
  async pathOf(account: EveAccount, uuid: string, maxAgeMs: number): Promise<string | undefined> {
    const readable = (await this.#list(account, maxAgeMs)).labs.filter((lab) => !this.#isLeftOut(lab));
    const found: string[] = [];
    await within(changeMs, (isOver) =>
      parallel(readable, 4, async (lab) => {
        if (!isOver() && (await this.#idOf(account, lab)) === uuid) found.push(lab.path);
      }),
    );
    return found.sort()[0];
  }

  forget(path: string): void {
    this.#known.delete(path);
    this.#unread.delete(path);
    this.#labIds.delete(path);
    this.#listings.clear();
  }

  async #idOf(account: EveAccount, lab: ListedLab): Promise<string | undefined> {
    const known = this.#labIds.get(lab.path);
    if (known?.written !== undefined && known.written === lab.written) return known.uuid;
    const answer = await readOther(account, lab.path, "");
    if (answer === undefined) {
      this.#leaveOut(lab);
      return undefined;
    }
    const uuid = textOf(recordOf(answer.data).id);
    this.#labIds.set(lab.path, { written: lab.written, uuid });
    return uuid;
  }

  async #read(account: EveAccount, path: string, maxAgeMs = 0, waitMs = changeMs): Promise<KnownLabs> {
    const listing = await this.#list(account, maxAgeMs);
    const listed = listing.labs.filter((lab) => lab.path !== path);
    const found = new Map<string, KnownLab>();
    const isRead = await within(waitMs, (isOver) =>
      parallel(listed, 4, async (lab) => {
        const known = this.#known.get(lab.path);
        if (known?.written !== undefined && known.written === lab.written) found.set(lab.path, known);
        else if (!isOver() && !this.#isLeftOut(lab)) {
          const read = await this.#readOnce(account, lab);
          if (read !== undefined) found.set(lab.path, read);
        }
      }),
    );
    const labs = listed.flatMap(({ path: one }) => (found.has(one) ? [[one, found.get(one) as KnownLab] as const] : []));
    return { labs, isComplete: isRead && listing.isComplete };
  }

  #list(account: EveAccount, maxAgeMs: number): Promise<LabListing> {
    const now = performance.now();
    const known = this.#listings.get(account.user);
    if (known !== undefined && now - known.at < maxAgeMs) return known.listing;
    const listing = listLabs(account, { fresh: maxAgeMs === 0 });
    this.#listings.set(account.user, { at: now, listing });
    listing.catch(() => this.#listings.delete(account.user));
    return listing;
  }

  /** Concurrent callers share the reads of a lab. */
  #readOnce(account: EveAccount, lab: ListedLab): Promise<KnownLab | undefined> {
    const key = `${lab.path} ${lab.written}`;
    const under = this.#reading.get(key);
    if (under !== undefined) return under;
    const reading = readIds(account, lab)
      .then((read) => {
        if (read === undefined) this.#leaveOut(lab);
        else {
          this.#known.set(lab.path, read);
          this.#unread.delete(lab.path);
        }
        return read;
      })
      .finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    return reading;
  }

  #isLeftOut({ path, written }: ListedLab): boolean {
    const unread = this.#unread.get(path);
    if (unread?.written === undefined || unread.written !== written) return false;
    return performance.now() - unread.at < Math.min(maxUnreadMs, unreadMs * 2 ** (unread.times - 1));
  }

  #leaveOut({ path, written }: ListedLab): void {
    const before = this.#unread.get(path);
    const times = before !== undefined && before.written === written ? before.times + 1 : 1;
    this.#unread.set(path, { at: performance.now(), written, times });
  }
}

/** A node of another lab. */
export interface Namesake {
  readonly lab: string;
  readonly node: string;
}

export interface Namesakes {
  /** By number. */
  readonly found: ReadonlyMap<number, readonly Namesake[]>;
  /** Returns false if not all other labs could be read in time. */
  readonly isComplete: boolean;
}

export interface LabNodes {
  readonly path: string;
  /** Number → name. */
  readonly nodes: ReadonlyMap<number, string>;
}

export interface RunningLab extends LabNodes {
  readonly networks: ReadonlySet<number>;
  /** Returns the ids that the host reports as running. On Community Edition also ids that run in another lab under the same number. */
  readonly up: readonly number[];
}

/** Waits for the work. After the time-out, signals it to end and returns false. */
async function within(ms: number, work: (isOver: () => boolean) => Promise<unknown>): Promise<boolean> {
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<false>((resolve) => {
    timer = setTimeout(() => {
      isOver = true;
      resolve(false);
    }, ms);
  });
  const done = work(() => isOver).then(() => true);
  // The race throws a failure that comes in time. After the time, the caller already has the result `false`, and a later failure does not change it.
  done.catch(() => undefined);
  try {
    return await Promise.race([done, over]);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns `undefined` if the host sends nothing in time, too much, or an invalid answer. */
async function readOther(
  account: EveAccount,
  path: string,
  part: "" | "/nodes" | "/networks",
  { peeks = false }: { readonly peeks?: boolean } = {},
): Promise<EveAnswer | undefined> {
  const call = { path: `/api/labs${labUrl(path)}${part}`, read: true, timeoutMs: otherLabMs, maxBytes: otherLabBytes };
  try {
    return peeks ? await account.peek(call.path, call) : await account.call(call);
  } catch (error) {
    if (error instanceof Failure && (error.code === "host_timeout" || error.code === "host_error")) return undefined;
    throw error;
  }
}

/** Returns `undefined` for a broken or deleted lab, of which nothing runs, and for a lab that the host does not read in time. */
async function readIds(account: EveAccount, { path, written }: ListedLab): Promise<KnownLab | undefined> {
  const [nodes, networks] = await Promise.all([readOther(account, path, "/nodes"), readOther(account, path, "/networks")]);
  if (nodes === undefined || networks === undefined) return undefined;
  if (nodes.status >= 300 || networks.status >= 300) return undefined;
  return {
    written,
    nodes: new Map(
      entriesOf(nodes.data).map(([key, value]) => [numberOf(recordOf(value).id) ?? Number(key), textOf(recordOf(value).name) ?? ""]),
    ),
    networks: new Set(entriesOf(networks.data).map(([key, value]) => numberOf(recordOf(value).id) ?? Number(key))),
  };
}

/** Labs of other users may have names that Labwright would refuse. */
function labUrl(path: string): EveLabPath["url"] {
  return `${encodePath(path)}.unl`;
}
