import { randomUUID } from "node:crypto";
import { Failure } from "../../../contract/errors.ts";
import type { Operation, Step } from "../../../engine/model/plan.ts";
import type { LabNetwork, LabNode, Position } from "../../../intent/lab/lab.ts";
import type { NativeIds } from "../../host.ts";
import { leaveTaken } from "../changes/renumber.ts";
import type { UnlLab } from "../lab-file/unl.ts";
import { wipeNodes } from "../power/power.ts";
import { type LabHead, withHead } from "../read/lab-read.ts";
import { renumberedIds } from "../write/given-ids.ts";
import type { LabEdit } from "../write/lab-edit.ts";
import { writeLab, writeNewLab } from "../write/write-lab.ts";
import { appliedSteps } from "./applied-steps.ts";
import { nobody, noneTaken, openEdit, type Run, takenIds } from "./run.ts";

export async function createLab(run: Run, head: LabHead | null, { lab: wanted }: Step & { do: "create-lab" }): Promise<void> {
  const { place, at } = run;
  if (head !== null) {
    const before = withHead(await place.world.reader.file(place.account, at), head);
    const edit = openEdit(run, before, noneTaken);
    edit.step({ do: "create-lab", lab: wanted });
    await writeLab(place, at, before, edit.lab);
    return;
  }
  run.ids = nobody;
  const empty: UnlLab = {
    name: at.name,
    id: randomUUID(),
    version: "1",
    scripttimeout: 300,
    lock: 0,
    nodes: [],
    networks: [],
    textObjects: [],
    pictures: [],
    configs: [],
  };
  const edit = openEdit(run, empty, await takenIds(run, wanted.nodes.length), placesOf([...wanted.nodes, ...wanted.networks]));
  // An import creates everything at once, so that the following steps have nothing to do.
  if (place.world.edition.imports !== "none") {
    for (const network of wanted.networks) edit.step({ do: "create-network", network });
    for (const node of wanted.nodes) edit.step({ do: "create-node", node });
    for (const link of wanted.links) edit.step({ do: "create-link", link });
  }
  edit.step({ do: "create-lab", lab: wanted });
  await writeNewLab(place, at, edit.lab, (folder, isOurs) => run.progress.madeFolder?.(folder, isOurs));
  run.ids = (await leaveTaken(place, at, edit.lab, edit.ids)).ids;
}

export async function editBatch(
  run: Run,
  head: LabHead,
  batch: readonly Operation[],
  creates: boolean,
  done: (some: readonly Operation[]) => void,
): Promise<void> {
  const { place, at } = run;
  const taken = creates ? await takenIds(run, batch.filter(({ step }) => step.do === "create-node").length) : noneTaken;
  const editNow = async () => {
    const before = withHead(await place.world.reader.file(place.account, at), head);
    return { before, ...runEdits(openEdit(run, before, taken, placesOf(batch.flatMap(placed))), batch) };
  };
  let edited = await editNow();
  // Wiping takes time, in which somebody may change the lab by hand. The file that is written contains these changes only if it was read after them.
  if (await emptyGone(run, edited.before, edited.edit.lab)) edited = await editNow();
  const { before, edit, after, failure } = edited;
  if (after.length > 0) {
    try {
      const { wanted } = await writeLab(place, at, before, edit.lab);
      run.ids = idsAsGiven(edit, wanted);
      const old = new Set(before.nodes.map(({ id }) => id));
      if (wanted.nodes.some(({ id }) => !old.has(id))) run.ids = (await leaveTaken(place, at, wanted, run.ids, old)).ids;
    } catch (error) {
      // Reports the parts that were done as done; if the host cannot be read, reports none.
      const got = await place.world.reader.file(place.account, at).catch(() => undefined);
      // The last step is never counted: if all steps were done, there would be no failure.
      const count = got === undefined ? 0 : Math.min(appliedSteps(before, after, got, place.catalogue), batch.length - 1);
      done(batch.slice(0, count));
      throw failedTogether(error, batch.slice(count));
    }
  }
  if (failure !== undefined) {
    done(batch.slice(0, after.length));
    throw failure.error;
  }
}

interface Edited {
  readonly edit: LabEdit;
  /** The lab after each step. */
  readonly after: readonly UnlLab[];
  /** Why the step after these failed. */
  readonly failure?: { readonly error: unknown };
}

function runEdits(edit: LabEdit, batch: readonly Operation[]): Edited {
  const after: UnlLab[] = [];
  for (const { step } of batch) {
    try {
      edit.step(step);
      after.push(edit.lab);
    } catch (error) {
      return { edit, after, failure: { error } };
    }
  }
  return { edit, after };
}

/**
 * Nodes must be stopped before they are deleted, or their processes keep running under their number. They must be wiped, or the next node with the
 * number gets their disk. Returns whether there were any.
 */
async function emptyGone(run: Run, before: UnlLab, after: UnlLab): Promise<boolean> {
  const { place, at, progress } = run;
  const kept = new Set(after.nodes.map(({ id }) => id));
  const gone = before.nodes.flatMap(({ id }) => (kept.has(id) ? [] : [id]));
  if (gone.length > 0) await wipeNodes({ place, at, lab: before, signal: progress.signal }, gone, progress.stopMode ?? 3);
  return gone.length > 0;
}

/** Returns the failure of an import of a whole lab file: all of its steps failed, and no single step is the reason. */
function failedTogether(error: unknown, batch: readonly Operation[]): unknown {
  if (!(error instanceof Failure) || error.data?.together !== true) return error;
  const { together: _marked, ...data } = error.data;
  return new Failure(error.code, error.message, { data: { ...data, failures: batch.map(({ id }) => ({ id })) }, cause: error });
}

function placed({ step }: Operation): readonly (LabNode | LabNetwork)[] {
  if (step.do === "create-node" || step.do === "update-node") return [step.node];
  return step.do === "create-network" || step.do === "update-network" ? [step.network] : [];
}

function placesOf(things: readonly (LabNode | LabNetwork)[]): readonly Position[] {
  return things.flatMap(({ position }) => position ?? []);
}

/** Returns the ids of the edit, with the numbers that the host assigned instead. */
function idsAsGiven(edit: LabEdit, wanted: UnlLab): NativeIds {
  const table = (kind: "nodes" | "networks") => new Map(edit.lab[kind].map(({ id }, index) => [id, wanted[kind][index]?.id ?? id]));
  const [nodes, networks] = [table("nodes"), table("networks")];
  return renumberedIds(edit.ids, { node: (id) => nodes.get(id) ?? id, network: (id) => networks.get(id) ?? id });
}
