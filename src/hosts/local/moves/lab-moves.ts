import { mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { Failure } from "../../../contract/errors.ts";
import { ifThere } from "../../../files/if-there.ts";
import { writeFileAtomic } from "../../../files/write-file-atomic.ts";
import type { HostMoves, LeavingNote, MovableLab, MovableNode, StagedLab } from "../../host-fleet.ts";
import { checkDefinition } from "../definitions/check-definition.ts";
import type { LabDefinition } from "../definitions/definition.ts";
import type { Definitions } from "../definitions/definitions.ts";
import type { Trash } from "../files/trash.ts";
import { makeTraversableDirectory } from "../files/traversable-directory.ts";
import type { LocalLab } from "../lab/local-lab.ts";
import { runOnMachine, succeeded } from "../machine/machine.ts";
import { isUuid } from "../machine/uuid.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import { diskBase } from "../transfers/disk-base.ts";
import { refuseFull } from "../transfers/export-disks.ts";
import { hostError } from "../transfers/pack-disk.ts";
import { diskUsage } from "../watches/disk-usage.ts";
import { packLab, unpackLab } from "./lab-archive.ts";

/** Parts of the embedded host. */
interface MoveParts {
  /** The state directory. */
  readonly directory: string;
  readonly definitions: Definitions;
  readonly trash: Trash;
  readonly catalogue: () => Promise<Catalogue>;
  readonly lab: (id: string) => Pick<LocalLab, "life" | "destroy">;
  readonly forget: (id: string) => void;
  readonly exclusive: <T>(path: string, work: () => Promise<T>) => Promise<T>;
}

/** Limit for counting the size of a lab, ms. */
const countMs = 60_000;
/** In the directory of a lab that another machine is about to get. */
const leavingFile = "leaving.json";

/** Labs on their way to and from other machines: staged in `<state>/moves/<job>`, with the description in move.json and the files in `lab`. */
export function labMoves(parts: MoveParts): HostMoves {
  const { directory, definitions, trash, catalogue, exclusive } = parts;
  const home = join(directory, "moves");
  const staged = (job: string) => join(home, job);
  const described = async (path: string): Promise<LabDefinition> => {
    const definition = await definitions.get(path);
    if (definition === undefined) throw new Failure("lab_not_found", `there is no lab ${path}`);
    return definition;
  };
  const note = (lab: StagedLab) => writeFileAtomic(join(staged(lab.job), "move.json"), `${JSON.stringify(lab)}\n`, 0o600);
  const stagedOf = async (job: string): Promise<StagedLab | undefined> => {
    const text = await ifThere(readFile(join(staged(job), "move.json"), "utf8"));
    return text === undefined ? undefined : (JSON.parse(text) as StagedLab);
  };
  const needed = async (job: string): Promise<StagedLab> => {
    const found = await stagedOf(job);
    if (found === undefined) throw new Failure("internal", `no lab was staged for job ${job}`);
    return found;
  };

  return {
    describe: async (path) => {
      const definition = await described(path);
      await refuseDamaged(definitions.directory(definition.id), definition);
      const offered = await catalogue();
      await refuseUp(parts, definition, offered);
      const top = definitions.directory(definition.id);
      const used = await diskUsage([top], AbortSignal.timeout(countMs));
      const nodes = await Promise.all(definition.nodes.map((node) => movableNode(node, offered)));
      return { lab: path, id: definition.id, bytes: used.get(top) ?? 0, nodes };
    },
    read: async (path) => {
      const { id } = await described(path);
      return Readable.from(packLab(definitions.directory(id)), { objectMode: false });
    },
    setLeaving: async (path, leavingNote) => {
      const { id } = await described(path);
      const file = join(definitions.directory(id), leavingFile);
      if (leavingNote === undefined) await rm(file, { force: true });
      else await writeFileAtomic(file, `${JSON.stringify(leavingNote)}\n`, 0o600);
    },
    leaving: async () => {
      const found = await Promise.all(
        (await definitions.all()).map(async ({ path, id }) => {
          const text = await ifThere(readFile(join(definitions.directory(id), leavingFile), "utf8"));
          return text === undefined ? [] : [{ lab: path, ...(JSON.parse(text) as LeavingNote) }];
        }),
      );
      return found.flat();
    },
    leave: (path) =>
      exclusive(path, async () => {
        const definition = await definitions.get(path);
        if (definition === undefined) return;
        await parts.lab(definition.id).destroy();
        await definitions.remove(path, { keepDisks: false });
        parts.forget(definition.id);
      }),
    check: async (lab) => {
      if (definitions.ids().includes(lab.id) || (await definitions.get(lab.lab)) !== undefined)
        throw hostError(`${lab.lab} is on this machine already, as a lab without a record: labwright adopt, or labwright destroy`);
      await mkdir(home, { recursive: true, mode: 0o700 });
      await refuseFull(home, lab.bytes);
      return differences(lab, await catalogue());
    },
    receive: async ({ job, lab, id, start }, bytes) => {
      if (!isUuid(id) || !/^[\w-]+$/.test(job)) throw new Failure("bad_request", "the move has no valid id");
      await makeTraversableDirectory(home);
      for (const old of await stagedLabs(home, stagedOf)) if (old.lab === lab && !old.isAdopted) await trash.discard(staged(old.job));
      await mkdir(staged(job), { mode: 0o711 });
      await note({ job, lab, id, start, isComplete: false, isAdopted: false });
      await mkdir(join(staged(job), "lab"));
      return unpackLab(bytes, join(staged(job), "lab"));
    },
    complete: async (job) => {
      const found = await needed(job);
      await refuseDamaged(join(staged(job), "lab"), { id: found.id, path: found.lab });
      const argv = ["sync", "--file-system", staged(job)];
      succeeded(argv, await runOnMachine(argv));
      await note({ ...found, isComplete: true });
    },
    staged: () => stagedLabs(home, stagedOf),
    adopt: (job) =>
      needed(job).then((found) =>
        exclusive(found.lab, async () => {
          // After a crash it may be renamed, and known, already.
          if (await ifThere(readdir(join(staged(job), "lab")))) await rename(join(staged(job), "lab"), definitions.directory(found.id));
          if (!definitions.ids().includes(found.id)) await definitions.restore(found.id);
          await note({ ...found, isAdopted: true });
        }),
      ),
    drop: async (job) => {
      await trash.discard(staged(job));
    },
  };
}

async function stagedLabs(home: string, read: (job: string) => Promise<StagedLab | undefined>): Promise<readonly StagedLab[]> {
  const jobs = (await ifThere(readdir(home))) ?? [];
  return (await Promise.all(jobs.map(read))).filter((one) => one !== undefined);
}

/** Throws host_error if lab.json is unreadable: its last good copy must not become the only one. */
async function refuseDamaged(directory: string, { id, path }: Pick<LabDefinition, "id" | "path">): Promise<void> {
  try {
    const found = checkDefinition(JSON.parse(await readFile(join(directory, "lab.json"), "utf8")), id);
    if (found.path !== path) throw new Error(`it is that of ${found.path}`);
  } catch (error) {
    throw hostError(`the lab.json of ${path} cannot be read: ${(error as Error).message}`);
  }
}

async function refuseUp({ lab }: MoveParts, definition: LabDefinition, catalogue: Catalogue): Promise<void> {
  const life = await lab(definition.id).life(definition, catalogue);
  const nodes = definition.nodes
    .filter(({ id }) => !["stopped", "failed", undefined].includes(life.get(id)?.power))
    .map(({ name }) => name);
  if (nodes.length === 0) return;
  throw new Failure("nodes_running", `nodes of ${definition.path} run or hibernate: ${nodes.join(", ")}`, { data: { nodes } });
}

async function movableNode(node: LabDefinition["nodes"][number], catalogue: Catalogue): Promise<MovableNode> {
  const { name, template, image, kernel } = node;
  const base = await diskBase(node, catalogue).catch((error: unknown) => {
    // Its image or template is missing here as well: it will be missing there, and nothing else changes.
    if (error instanceof Failure && ["bad_request", "template_not_found"].includes(error.code)) return undefined;
    throw error;
  });
  return {
    ...{ name, template },
    ...(image !== undefined && { image }),
    ...(kernel !== undefined && { kernel }),
    ...(base !== undefined && { base: { kind: base.kind, digest: base.base } }),
  };
}

/** Throws for a node whose disk would be worthless here. Returns the other differences, for people. */
async function differences({ nodes }: MovableLab, catalogue: Catalogue): Promise<readonly string[]> {
  const other: string[] = [];
  for (const node of nodes) {
    if (node.base === undefined) continue;
    const here = await diskBase(node, catalogue);
    if (here?.base === node.base.digest) continue;
    if (here?.kind !== "files" || node.base.kind !== "files")
      throw hostError(`node ${node.name}: its disk is the difference to another image than this machine has under the same name`);
    other.push(node.name);
  }
  return other.length === 0 ? [] : [`the image of these nodes is another build there: ${other.join(", ")}`];
}
