import { Failure } from "../../../contract/errors.ts";
import type { Progress } from "../../host.ts";
import { isOutcomePending, settled } from "../api/pending-outcome.ts";
import type { UnlLab } from "../lab-file/unl.ts";
import { lowestFree } from "../lab-file/unl-links.ts";
import { ensureFolder, folderTurn } from "../labs/lab-folders.ts";
import type { EvePlace } from "../labs/world.ts";
import { importLab } from "../read/lab-export.ts";
import { changedFacts, expectFacts, labFacts } from "../read/lab-facts.ts";
import type { EveLabPath } from "../read/lab-path.ts";
import { readHead } from "../read/lab-read.ts";
import { hasMissingImage } from "../templates/missing-image.ts";
import { completeLab } from "./complete-lab.ts";
import { adoptedIds, renumbered } from "./given-ids.ts";
import { callName, runCalls, type WriteCall, writeCalls } from "./write-calls.ts";

/** Maximum number of single calls. More are slower and less atomic than one import of the whole file. */
const fewCalls = 4;

/** The lab on the host after a write, and the wanted lab with the ids that the host assigned. */
export interface Written {
  readonly wanted: UnlLab;
  readonly got: UnlLab;
}

/**
 * Changes the lab on the host to the wanted one: by a few single calls, or by one import. Reads it back and compares every changed field. Throws
 * host_error with field, wanted and actual value; with data.together if the change was one import. Does not repeat a write with an unknown outcome:
 * it succeeds if the lab on the host is as wanted.
 */
export async function writeLab(
  place: EvePlace,
  at: EveLabPath,
  before: UnlLab,
  after: UnlLab,
  options: { readonly whole?: true } = {},
): Promise<Written> {
  const { world, account, catalogue, pod } = place;
  const calls = writeCalls(before, after, catalogue, world.edition);
  const needsFile = options.whole === true || JSON.stringify(fileParts(before)) !== JSON.stringify(fileParts(after));
  if (calls.length === 0 && !needsFile) return { wanted: after, got: before };
  const canImport = world.edition.imports === "any" && before.isPartial !== true;
  const losesImages = after.nodes.some((node) => hasMissingImage(catalogue, node));
  const whole = canImport && (needsFile || losesImages || calls.length > fewCalls || !idsAsGiven(before, after, calls));
  let wanted = whole ? completeLab(after, catalogue, pod) : after;
  let got: UnlLab;
  let pending: Failure | undefined;
  try {
    for (let rest = calls; ; ) {
      let last: WriteCall | undefined;
      pending = undefined;
      try {
        if (whole) await importLab(account, at, wanted);
        else wanted = await runCalls(account, at.url, rest, wanted, (call) => (last = call));
      } catch (error) {
        if (!isOutcomePending(error)) throw error;
        pending = error;
      } finally {
        world.reader.forget(at.path);
        world.others.forget(at.path);
      }
      got = await readAfter(place, at, pending);
      if (pending === undefined || last === undefined) break;
      // The answer was lost, and with it the id that the host assigned. If the call was carried out, the write continues. The call is not sent again.
      wanted = renumbered(wanted, adoptedIds(before, wanted, got));
      const left = writeCalls(got, wanted, catalogue, world.edition);
      const lost = callName(last);
      if (left.length === 0 || left.length >= rest.length || left.some((call) => callName(call) === lost)) break;
      rest = left;
    }
    const changes = changedFacts(labFacts(before, catalogue), labFacts(wanted, catalogue));
    expectFacts(changes, labFacts(got, catalogue), pending?.message);
  } catch (error) {
    if (!whole || !(error instanceof Failure)) throw error;
    throw new Failure(error.code, error.message, { data: { ...error.data, together: true }, cause: error });
  }
  await world.interfaces.learn(account, at.url, got.nodes);
  return { wanted, got };
}

/** Reads the lab after a write. If the outcome of the write is unknown and the lab cannot be read either, the error reports both. */
async function readAfter({ world, account }: EvePlace, at: EveLabPath, pending: Failure | undefined): Promise<UnlLab> {
  try {
    return await world.reader.file(account, at);
  } catch (error) {
    if (pending === undefined || !(error instanceof Failure)) throw error;
    if (error.code === "lab_not_found")
      throw new Failure(pending.code, `${pending.message}; the host has no such lab now`, { data: { ...pending.data }, cause: pending });
    throw new Failure(error.code, `${pending.message}; what became of it could not be read: ${error.message}`, {
      data: { ...error.data },
      cause: pending,
    });
  }
}

/**
 * Creates a lab that does not exist. @param madeFolder Progress.madeFolder
 */
export async function writeNewLab(
  place: EvePlace,
  at: EveLabPath,
  given: UnlLab,
  madeFolder: NonNullable<Progress["madeFolder"]>,
): Promise<Written> {
  const { world, account, catalogue, pod } = place;
  const lab = completeLab(given, catalogue, pod);
  // While a lab is being created, no other change removes its still empty folder.
  const inFolder = (make: () => Promise<void>) =>
    world.writes.run(folderTurn, async () => {
      await ensureFolder(account, at.folder, madeFolder);
      await make();
    });
  if (world.edition.imports === "none") {
    const description = lab.description ?? "";
    const body = { path: at.folder, name: at.name, version: "1", author: "", description, body: "", scripttimeout: 300 };
    await inFolder(() =>
      settled(
        `make lab ${at.path}`,
        () => account.call({ method: "POST", path: "/api/labs", body, read: false }),
        ({ code }) => code === 60019,
        async () => (await readHead(account, at)) !== null,
      ),
    );
    const empty = { ...lab, nodes: [], networks: [], textObjects: [], configs: [], pictures: [] };
    return writeLab(place, at, empty, lab);
  }
  let pending: Failure | undefined;
  try {
    await inFolder(() => importLab(account, at, lab));
  } catch (error) {
    if (!isOutcomePending(error)) throw error;
    pending = error;
  } finally {
    world.reader.forget(at.path);
  }
  const got = await readAfter(place, at, pending);
  expectFacts(changedFacts(new Map(), labFacts(lab, catalogue)), labFacts(got, catalogue), pending?.message);
  await world.interfaces.learn(account, at.url, got.nodes);
  return { wanted: lab, got };
}

/** Parts of a lab that no call writes. */
function fileParts({ pictures, networks }: UnlLab): unknown {
  return [pictures, networks.map(({ icon }) => icon)];
}

/** Returns whether the host would assign new objects the ids of the file: it uses the lowest free id. */
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
