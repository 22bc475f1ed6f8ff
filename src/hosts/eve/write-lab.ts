import { Failure } from "../../contract/errors.ts";
import type { EveAccount } from "./account.ts";
import { hostError } from "./answer.ts";
import { importLab } from "./lab-export.ts";
import { changedFacts, expectFacts, labFacts } from "./lab-facts.ts";
import { type EveLabPath, encodePath } from "./lab-path.ts";
import { mustReadHead } from "./lab-read.ts";
import type { UnlLab } from "./unl.ts";
import { lowestFree } from "./unl-links.ts";
import type { EvePlace } from "./world.ts";
import { runCalls, type WriteCall, writeCalls } from "./write-calls.ts";

/** More calls than this are slower, and less of a whole, than writing the file anew. */
const fewCalls = 4;

/** What the host has after a write, and the wanted lab with the ids that the host gave. */
export interface Written {
  readonly wanted: UnlLab;
  readonly got: UnlLab;
}

/**
 * Makes of the lab on the host what is wanted: by single calls where they are few, by one import else. Reads it back and compares every
 * field that was to change. Throws host_error naming field, wanted and got. A write whose outcome is unknown is not repeated: what is
 * there is compared, and is good if it is what was wanted.
 */
export async function writeLab(place: EvePlace, at: EveLabPath, before: UnlLab, after: UnlLab): Promise<Written> {
  const { world, account, catalogue } = place;
  const calls = writeCalls(before, after, catalogue, world.edition);
  if (calls.length === 0) return { wanted: after, got: before };
  const whole = world.edition.imports === "any" && (calls.length > fewCalls || !idsAsGiven(before, after, calls));
  let wanted = after;
  let doubt: Failure | undefined;
  try {
    if (whole) await importLab(account, at, after);
    else wanted = await runCalls(account, at.url, calls, after);
  } catch (error) {
    if (!isDoubtful(error)) throw error;
    doubt = error;
  } finally {
    world.reader.forget(at.path);
    world.others.forget(at.path);
  }
  const got = await world.reader.file(account, at);
  const changes = changedFacts(labFacts(before, catalogue), labFacts(wanted, catalogue));
  expectFacts(changes, labFacts(got, catalogue), doubt?.message);
  await world.interfaces.learn(account, at.url, got.nodes);
  return { wanted, got };
}

/** Makes a lab that is not there. */
export async function writeNewLab(place: EvePlace, at: EveLabPath, lab: UnlLab): Promise<Written> {
  const { world, account, catalogue } = place;
  await ensureFolder(account, at.folder);
  if (world.edition.imports === "none") {
    const description = lab.description ?? "";
    const body = { path: at.folder, name: at.name, version: "1", author: "", description, body: "", scripttimeout: 300 };
    const answer = await account.call({ method: "POST", path: "/api/labs", body, read: false });
    if (answer.code !== 60019) throw hostError(`make lab ${at.path}`, answer);
    await mustReadHead(account, at);
    const empty = { ...lab, nodes: [], networks: [], textObjects: [], configs: [], pictures: [] };
    return writeLab(place, at, empty, lab);
  }
  let doubt: Failure | undefined;
  try {
    await importLab(account, at, lab);
  } catch (error) {
    if (!isDoubtful(error)) throw error;
    doubt = error;
  } finally {
    world.reader.forget(at.path);
  }
  const got = await world.reader.file(account, at);
  expectFacts(changedFacts(new Map(), labFacts(lab, catalogue)), labFacts(got, catalogue), doubt?.message);
  await world.interfaces.learn(account, at.url, got.nodes);
  return { wanted: lab, got };
}

/** The host broke in the middle, or the connection did. */
export function isDoubtful(error: unknown): error is Failure {
  if (!(error instanceof Failure)) return false;
  if (error.code === "host_timeout" || error.code === "host_unreachable") return true;
  const host = error.data?.host as { readonly status?: unknown } | undefined;
  return error.code === "host_error" && typeof host?.status === "number" && host.status >= 500;
}

/** Whether the host would give new things the ids that they have in the file: it takes the lowest that is free. */
function idsAsGiven(before: UnlLab, after: UnlLab, calls: readonly WriteCall[]): boolean {
  for (const kind of ["node", "network"] as const) {
    const kept = kind === "node" ? after.nodes : after.networks;
    const old = kind === "node" ? before.nodes : before.networks;
    const made = calls.flatMap(({ gives }) => (gives?.kind === kind ? [gives.id] : []));
    const used = old.filter(({ id }) => kept.some((one) => one.id === id));
    const there: { readonly id: number }[] = [...used];
    for (const id of made) {
      if (lowestFree(there) !== id) return false;
      there.push({ id });
    }
  }
  return true;
}

async function ensureFolder(account: EveAccount, folder: string): Promise<void> {
  if (folder === "/") return;
  const there = await account.call({ path: `/api/folders${encodePath(folder)}`, read: true });
  if (there.code === 60007) return;
  if (there.code !== 60008) throw hostError(`look for folder ${folder}`, there);
  const at = folder.lastIndexOf("/");
  const parent = at === 0 ? "/" : folder.slice(0, at);
  await ensureFolder(account, parent);
  const made = await account.call({
    method: "POST",
    path: "/api/folders",
    body: { path: parent, name: folder.slice(at + 1) },
    read: false,
  });
  // 60013: someone else made it at the same moment.
  if (made.code !== 60014 && made.code !== 60013) throw hostError(`make folder ${folder}`, made);
}
