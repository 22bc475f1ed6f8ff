import { Failure } from "../../contract/errors.ts";
import type { HostSession, LiveNode, NativeIds } from "../host.ts";
import type { HostSnapshots } from "../host-snapshots.ts";
import { type EveAccount, type EveUser, readUser } from "./account/account.ts";
import { editionCapabilities } from "./account/edition.ts";
import { readLoad } from "./account/host-load.ts";
import { listUsers } from "./account/host-users.ts";
import { hostFailure } from "./api/host-failure.ts";
import { applySteps } from "./apply/apply.ts";
import { copyExtras } from "./changes/copy-extras.ts";
import { writeLock } from "./changes/lab-lock.ts";
import { readPicture, readPictures } from "./changes/pictures.ts";
import { readLive, setQuality } from "./changes/quality.ts";
import { renumberLab } from "./changes/renumber.ts";
import { saveConfigs } from "./changes/save-configs.ts";
import { listSnapshots, removeAllSnapshots, removeSnapshot, restoreSnapshot, takeSnapshot } from "./changes/snapshots.ts";
import { tooFewNumbers } from "./changes/used-numbers.ts";
import { findClashes } from "./labs/clashes.ts";
import { folderTurn, removeEmptyFolder } from "./labs/lab-folders.ts";
import { listLabs } from "./labs/lab-listing.ts";
import type { EvePlace, EveWorld } from "./labs/world.ts";
import { openConsole } from "./power/console.ts";
import { leftRunning } from "./power/left-running.ts";
import { type EveLabPath, eveLabPath, labPathProblem } from "./read/lab-path.ts";
import { mustReadHead, type NodeStatus, readHead } from "./read/lab-read.ts";
import { type LivePower, observedLab, powerOf } from "./read/observe.ts";

/** The calls of one open session. */
interface OpenSession {
  readonly world: EveWorld;
  readonly account: EveAccount;
  readonly user: EveUser;
  /** Throws expired_host_session. */
  readonly alive: () => void;
  readonly place: () => Promise<EvePlace>;
}

/** @param release called once, when the session closes */
export function eveSession(world: EveWorld, account: EveAccount, user: EveUser, release: () => Promise<void>): HostSession {
  let closed = false;
  const alive = () => {
    if (closed) throw new Failure("expired_host_session", "the session was closed");
  };
  const place = async (): Promise<EvePlace> => {
    alive();
    return { world, account, catalogue: await world.catalogue.read(account), pod: user.tenant ?? 0 };
  };
  // PNETLab numbers its roles; 0 is the administrator. A role that is not known gives no rights of an administrator.
  const role = user.role === "admin" || (account.pnetlab && user.role === "0") ? "admin" : "user";
  const session: OpenSession = { world, account, user, alive, place };
  return {
    user: user.name,
    role,
    ...hostCalls(session),
    ...readCalls(session),
    ...changeCalls(session),
    ...editionCalls(session),
    close: async () => {
      if (closed) return;
      closed = true;
      await release();
    },
  };
}

/** Maximum characters of a lab's tasks. They are written by hand. */
const maxTasks = 1_000_000;

/** The calls that need no lab. */
function hostCalls({
  world,
  account,
  alive,
  place,
}: OpenSession): Required<Pick<HostSession, "capabilities" | "templates" | "networkTypes" | "icons" | "rules" | "checkLabPath">> {
  return {
    capabilities: async () => {
      alive();
      const { features, ...rest } = editionCapabilities(world.edition);
      // Any call that needs the session would do: it fails if the host is unreachable.
      const { networkTypes } = await world.catalogue.read(account);
      await readUser(account);
      return { ...rest, features: { ...features, nat: networkTypes.some(({ nat }) => nat) } };
    },
    templates: async () => (await place()).catalogue.templates,
    networkTypes: async () => (await place()).catalogue.networkTypes,
    icons: async () => (await place()).catalogue.icons,
    rules: async () => (await place()).catalogue.rules,
    checkLabPath: labPathProblem,
  };
}

function readCalls({
  world,
  account,
  user,
  alive,
  place,
}: OpenSession): Required<Pick<HostSession, "labs" | "observe" | "status" | "leftRunning" | "tasks" | "console">> {
  return {
    labs: async () => {
      alive();
      return (await listLabs(account)).labs.map(({ path }) => path);
    },
    observe: async (path) => {
      const here = await place();
      const at = eveLabPath(path);
      const head = await readHead(account, at);
      if (head === null) return null;
      const mark = world.owners.of(account).mark();
      const { lab, nodes } = await world.reader.read(account, at);
      await world.interfaces.learn(account, at.url, lab.nodes);
      const power = await powers(here, at, nodes, mark);
      return observedLab(at.path, head, lab, nodes, here.catalogue, world.interfaces, power);
    },
    status: async (path) => {
      const here = await place();
      const at = eveLabPath(path);
      const mark = world.owners.of(account).mark();
      const { statuses, links } = await readLive(here, at);
      const power = await powers(here, at, statuses, mark);
      const elsewhere = await usersOf(here, at, statuses);
      const nodes = statuses.map((node): LiveNode => {
        const { id, name, status } = node;
        const { power: word, clash, stuck } = power(node);
        const other = status < 2 ? elsewhere(id) : undefined;
        return {
          id: String(id),
          name,
          status: word,
          // 3: a script still configures it.
          ...(word === "running" && { ready: status === 2 }),
          ...(clash !== undefined && { clash }),
          ...(stuck !== undefined && { stuck }),
          ...(other !== undefined && { other_user: other }),
        };
      });
      return { nodes, links };
    },
    leftRunning: async (path, ids) => leftRunning(await place(), eveLabPath(path).path, ids.nodes),
    tasks: async (path) => {
      alive();
      const { body } = await mustReadHead(account, eveLabPath(path));
      if (body.length > maxTasks)
        throw hostFailure(`the tasks of lab ${path} are not shown: they have ${body.length} characters, more than ${maxTasks}`);
      return body;
    },
    console: async (path, nodeId) => openConsole(await place(), eveLabPath(path), nodeId, user.tenant),
  };
}

function changeCalls({
  world,
  account,
  alive,
  place,
}: OpenSession): Required<Pick<HostSession, "apply" | "removeFolder" | "copyExtras" | "setLinkQuality" | "setLinkSuspend" | "setLock">> {
  return {
    apply: async (path, operations, progress) => {
      const here = await place();
      const at = eveLabPath(path);
      return world.changes.run(at.path, () => applySteps(here, at, operations, progress));
    },
    removeFolder: async (folder) => {
      alive();
      return world.writes.run(folderTurn, () => removeEmptyFolder(account, folder));
    },
    copyExtras: async (from, to, about) => {
      const here = await place();
      const [source, copy] = [eveLabPath(from), eveLabPath(to)];
      return world.changes.run(copy.path, () => world.writes.run(copy.path, () => copyExtras(here, source, copy, about)));
    },
    setLinkQuality: async (path, id, quality, { save }) => {
      const here = await place();
      const at = eveLabPath(path);
      return world.changes.run(at.path, () => world.writes.run(at.path, () => setQuality(here, at, id, quality, save)));
    },
    setLinkSuspend: async () => {
      throw new Failure("unsupported", `EVE-NG ${world.edition.name} has no known call that suspends a link`, {
        data: { feature: "linkSuspend" },
      });
    },
    // Does not wait for running changes: the lock stops them before their next batch. Waits for writes, which would overwrite the lock.
    setLock: async (path, locked) => {
      alive();
      const at = eveLabPath(path);
      await world.writes.run(at.path, async () => {
        const head = await mustReadHead(account, at);
        if (!world.edition.lock) {
          const why =
            "PNETLab locks a lab with a password, which its users must know: lock it in its web interface; a lab that is locked is not changed";
          throw new Failure("unsupported", why, { data: { feature: "lock" } });
        }
        if ((head.lock !== 0) === locked) return;
        await writeLock(await place(), at, head, locked);
      });
    },
  };
}

/** The calls that not all editions have. */
function editionCalls({ world, account, alive, place }: OpenSession): Partial<HostSession> {
  return {
    // PNETLab applies every call to the lab that the user entered last: reading other labs would change that.
    ...(!account.pnetlab && {
      findLab: async (id: string) => {
        alive();
        return world.others.pathOf(account, id, world.timing.othersMs);
      },
    }),
    ...(!account.pnetlab && {
      load: async () => {
        alive();
        return readLoad(account);
      },
      users: async () => {
        alive();
        return listUsers(account);
      },
    }),
    ...(world.edition.savesConfigs && {
      saveConfigs: async (path, ids, signal) => {
        const here = await place();
        const at = eveLabPath(path);
        return world.changes.run(at.path, () => world.writes.run(at.path, () => saveConfigs(here, at, ids, signal)));
      },
    }),
    ...(world.edition.sharedNames && {
      checkNewNodes: async (path: string, count: number) => tooFewNumbers(await place(), eveLabPath(path).path, count),
      renumber: async (path: string, ids: NativeIds) => {
        const here = await place();
        const at = eveLabPath(path);
        return world.changes.run(at.path, () => renumberLab(here, at, ids));
      },
    }),
    ...(world.edition.snapshots && { snapshots: snapshotsOf(world, place) }),
    ...(world.edition.exports && {
      pictures: {
        list: async (path: string) => (await readPictures(await place(), eveLabPath(path))).map(({ picture }) => picture),
        read: async (path: string, id: string) => readPicture(await place(), eveLabPath(path), id),
      },
    }),
  };
}

/** Changes of snapshots are changes of their lab. */
function snapshotsOf({ changes }: EveWorld, place: () => Promise<EvePlace>): HostSnapshots {
  const inTurn = async <T>(path: string, work: (here: EvePlace, at: EveLabPath) => Promise<T>): Promise<T> => {
    const here = await place();
    const at = eveLabPath(path);
    return changes.run(at.path, () => work(here, at));
  };
  return {
    list: async (path) => listSnapshots(await place(), eveLabPath(path)),
    take: (path, name) => inTurn(path, (here, at) => takeSnapshot(here, at, name)),
    restore: (path, name, ids) => inTurn(path, (here, at) => restoreSnapshot(here, at, name, ids)),
    remove: (path, name) => inTurn(path, (here, at) => removeSnapshot(here, at, name)),
    removeAll: (path) => inTurn(path, removeAllSnapshots),
  };
}

/** Returns the power of each node: its status, corrected by other labs and by starts in progress. */
async function powers(
  place: EvePlace,
  at: EveLabPath,
  nodes: readonly NodeStatus[],
  mark: number,
): Promise<(node: NodeStatus) => LivePower> {
  const { world, account } = place;
  const owners = world.owners.of(account);
  const clashes = await findClashes(place, at, nodes, mark, world.timing.othersMs);
  return (node) => powerOf(node, world.edition, clashes, (id) => owners.isStarting(id, at.path));
}

/** Returns the other user for whom a node that is stopped for this user runs or may run. */
async function usersOf(place: EvePlace, at: EveLabPath, nodes: readonly NodeStatus[]): Promise<(id: number) => LiveNode["other_user"]> {
  if (!nodes.some(({ status }) => status < 2)) return () => undefined;
  const uses = await place.world.users.uses(place, at, place.world.timing.othersMs);
  return (id) => {
    const sure = uses.find(({ running }) => running?.includes(id));
    if (sure !== undefined) return { user: sure.user, certain: true };
    const may = uses.find(({ running, opened }) => running === undefined && opened);
    return may === undefined ? undefined : { user: may.user, certain: false };
  };
}
