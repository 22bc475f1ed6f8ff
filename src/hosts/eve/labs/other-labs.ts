import { Failure } from "../../../contract/errors.ts";
import type { EveAccount } from "../account/account.ts";
import { entriesOf, listOf, numberOf, recordOf, textOf } from "../api/answer.ts";
import { parallel } from "../api/parallel.ts";
import { type EveLabPath, encodePath, snapshotsFolder } from "../read/lab-path.ts";
import { nodeStatuses } from "../read/lab-read.ts";

/** Ids that had better not be used: other labs of the user have them, and the two could not run together. */
export interface TakenIds {
  readonly nodes: ReadonlySet<number>;
  readonly networks: ReadonlySet<number>;
}

interface KnownLab {
  readonly written: number | undefined;
  readonly nodes: ReadonlyMap<number, string>;
  readonly networks: ReadonlySet<number>;
}

export interface ListedLab {
  /** The service's path: /courses/bgp-1 */
  readonly path: string;
  readonly written: number | undefined;
}

const maxFolders = 1000;
/** For each read of another lab, ms: somebody's giant lab must not hold up everybody's. */
const otherLabMs = 5_000;
/** How long a lab that could not be read is not asked for again while its file stays as it is, ms. */
const unreadMs = 60_000;

/** Every lab of the host that the user can see, folder by folder; snapshots are none. */
export async function listLabs(account: EveAccount): Promise<readonly ListedLab[]> {
  const labs: ListedLab[] = [];
  const seen = new Set<string>();
  let level = ["/"];
  while (level.length > 0 && seen.size < maxFolders) {
    for (const folder of level) seen.add(folder);
    const contents = await parallel(level, 6, async (folder) => {
      const answer = await account.call({ path: `/api/folders${folder === "/" ? "/" : encodePath(folder)}`, read: true });
      // A folder that went meanwhile holds nothing.
      if (answer.status === 404 || answer.status === 400) return { folders: [], labs: [] };
      const { folders, labs: files } = recordOf(answer.data);
      const doing = `list the labs in ${folder}`;
      return {
        folders: listOf(folders, doing).flatMap(([, one]) => {
          const { name, path } = recordOf(one);
          const text = textOf(path);
          return name === ".." || text === undefined || text === snapshotsFolder ? [] : [text];
        }),
        labs: listOf(files, doing).flatMap(([, one]) => {
          const { path, umtime } = recordOf(one);
          const text = textOf(path);
          return text?.endsWith(".unl") ? [{ path: text.slice(0, -4).replace(/^\/+/, "/"), written: numberOf(umtime) }] : [];
        }),
      };
    });
    labs.push(...contents.flatMap((one) => one.labs));
    level = [...new Set(contents.flatMap((one) => one.folders))].filter((folder) => !seen.has(folder));
  }
  return labs.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/**
 * On Community Edition ports, interfaces and bridges of running nodes are named by user and id: labs of one user that share ids cannot
 * run side by side. This knows the ids of the other labs, as long as their files are not written.
 */
export class OtherLabs {
  readonly #known = new Map<string, KnownLab>();
  /** When a lab could not be read, and the time of its file. */
  readonly #unread = new Map<string, { readonly at: number; readonly written: number | undefined }>();
  /** The lab id of each lab. */
  readonly #labIds = new Map<string, { readonly written: number | undefined; readonly uuid: string | undefined }>();
  readonly #reading = new Map<string, Promise<KnownLab | undefined>>();
  /** The last listing of each user. */
  readonly #listings = new Map<string, { readonly at: number; readonly labs: Promise<readonly ListedLab[]> }>();

  /** The ids that labs other than this one have. */
  async taken(account: EveAccount, path: string): Promise<TakenIds> {
    const labs = await this.#read(account, path);
    return {
      nodes: new Set(labs.flatMap(([, lab]) => [...lab.nodes.keys()])),
      networks: new Set(labs.flatMap(([, lab]) => [...lab.networks])),
    };
  }

  /**
   * The nodes of other labs that have one of these numbers, by number and by path.
   * @param maxAgeMs how old the listing of labs may be
   */
  async namesakes(
    account: EveAccount,
    path: string,
    ids: ReadonlySet<number>,
    maxAgeMs: number,
  ): Promise<ReadonlyMap<number, readonly Namesake[]>> {
    const found = new Map<number, Namesake[]>();
    for (const [lab, { nodes }] of await this.#read(account, path, maxAgeMs)) {
      for (const id of ids) {
        const node = nodes.get(id);
        if (node !== undefined) found.set(id, [...(found.get(id) ?? []), { lab, node }]);
      }
    }
    return found;
  }

  /** Numbers that run for the account's user, with the type of their node; a number that several labs have counts once. */
  async running(account: EveAccount): Promise<ReadonlyMap<number, string>> {
    const lists = await parallel(await listLabs(account), 4, async ({ path }) => {
      const answer = await account.peek(`/api/labs${labUrl(path)}/nodes`);
      return answer === undefined || answer.status >= 300 ? [] : nodeStatuses(answer.data);
    });
    const up = lists.flat().filter(({ status }) => status >= 2);
    return new Map(up.map(({ id, data }) => [id, textOf(data.type) ?? ""]));
  }

  /** Labs that share a node id or a network id with these, each with the ids of its nodes that run and are not in doubt. */
  async runningBeside(account: EveAccount, path: string, ids: TakenIds): Promise<readonly RunningLab[]> {
    const labs = await this.#read(account, path);
    const shared = labs.filter(
      ([, lab]) => [...lab.nodes.keys()].some((id) => ids.nodes.has(id)) || [...lab.networks].some((id) => ids.networks.has(id)),
    );
    const found = await parallel(shared, 4, async ([other, lab]) => {
      const answer = await account.call({ path: `/api/labs${labUrl(other)}/nodes`, read: true });
      const nodes = answer.status >= 300 ? [] : nodeStatuses(answer.data);
      return { path: other, lab, up: nodes.filter(({ status }) => status >= 2) };
    });
    return found.flatMap(({ path: other, lab, up }) =>
      up.length === 0 ? [] : [{ path: other, nodes: lab.nodes, networks: lab.networks, up: up.map(({ id }) => id) }],
    );
  }

  /** Other labs with this lab id, whose nodes have the same directories on the host. */
  async withId(account: EveAccount, path: string, uuid: string): Promise<readonly LabNodes[]> {
    const labs = await parallel(await this.#read(account, path), 4, async ([other, { written, nodes }]) => {
      const known = this.#labIds.get(other);
      if (known?.written === undefined || known.written !== written) {
        const answer = await account.call({ path: `/api/labs${labUrl(other)}`, read: true });
        this.#labIds.set(other, { written, uuid: textOf(recordOf(answer.data).id) });
      }
      return { path: other, nodes, uuid: this.#labIds.get(other)?.uuid };
    });
    return labs.filter((lab) => lab.uuid === uuid);
  }

  forget(path: string): void {
    this.#known.delete(path);
    this.#unread.delete(path);
    this.#labIds.delete(path);
    this.#listings.clear();
  }

  async #read(account: EveAccount, path: string, maxAgeMs = 0): Promise<readonly (readonly [string, KnownLab])[]> {
    const listed = (await this.#list(account, maxAgeMs)).filter((lab) => lab.path !== path);
    const labs = await parallel(listed, 4, async (lab): Promise<readonly (readonly [string, KnownLab])[]> => {
      const known = this.#known.get(lab.path);
      if (known !== undefined && known.written !== undefined && known.written === lab.written) return [[lab.path, known]];
      const unread = this.#unread.get(lab.path);
      if (unread?.written !== undefined && unread.written === lab.written && performance.now() - unread.at < unreadMs) return [];
      const read = await this.#readOnce(account, lab);
      if (read === undefined) {
        this.#unread.set(lab.path, { at: performance.now(), written: lab.written });
        return [];
      }
      this.#known.set(lab.path, read);
      return [[lab.path, read]];
    });
    return labs.flat();
  }

  #list(account: EveAccount, maxAgeMs: number): Promise<readonly ListedLab[]> {
    const now = performance.now();
    const known = this.#listings.get(account.user);
    if (known !== undefined && now - known.at < maxAgeMs) return known.labs;
    const labs = listLabs(account);
    this.#listings.set(account.user, { at: now, labs });
    labs.catch(() => this.#listings.delete(account.user));
    return labs;
  }

  /** Several who ask at once share the reads of a lab. */
  #readOnce(account: EveAccount, lab: ListedLab): Promise<KnownLab | undefined> {
    const key = `${lab.path} ${lab.written}`;
    const under = this.#reading.get(key);
    if (under !== undefined) return under;
    const reading = readIds(account, lab).finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    return reading;
  }
}

/** A node of another lab. */
export interface Namesake {
  readonly lab: string;
  readonly node: string;
}

export interface LabNodes {
  readonly path: string;
  /** Number → name. */
  readonly nodes: ReadonlyMap<number, string>;
}

export interface RunningLab extends LabNodes {
  readonly networks: ReadonlySet<number>;
  /** Ids that the host calls running; on Community Edition also those that run in another lab under the same number. */
  readonly up: readonly number[];
}

/** undefined: a lab that is broken, or went meanwhile: nothing of it runs; or one that the host does not read in time. */
async function readIds(account: EveAccount, { path, written }: ListedLab): Promise<KnownLab | undefined> {
  const read = (what: string) => account.call({ path: `/api/labs${labUrl(path)}/${what}`, read: true, timeoutMs: otherLabMs });
  const [nodes, networks] = await Promise.all([read("nodes"), read("networks")]).catch((error: unknown) => {
    if (error instanceof Failure && error.code === "host_timeout") return [];
    throw error;
  });
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

/** Labs of others may have names that we would not give. */
function labUrl(path: string): EveLabPath["url"] {
  return `${encodePath(path)}.unl`;
}
