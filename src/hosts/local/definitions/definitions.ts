import { join } from "node:path";
import type { Spares } from "../../../files/spare-files.ts";
import { spreadDirectories } from "../files/spread-directories.ts";
import type { Trash } from "../files/trash.ts";
import { makeTraversableDirectory } from "../files/traversable-directory.ts";
import { acceptLabs } from "./accept-labs.ts";
import type { LabDefinition } from "./definition.ts";
import { DefinitionStore } from "./definition-store.ts";
import type { KeptLabs } from "./kept-labs.ts";
import type { RecordedLab } from "./path-claims.ts";

/** The persisted labs. Each has a directory `<state>/labs/<uuid>`. */
export interface Definitions {
  /** Returns the paths of all labs, sorted. */
  paths(): readonly string[];
  /** Returns the uuids of all labs. */
  ids(): readonly string[];
  /**
   * Returns the lab as it is on disk now, so that an edit by hand is noticed; `undefined` if there is no such lab. Warns of an unreadable file and returns the
   * last good definition instead. Throws host_error if there is none.
   */
  get(path: string): Promise<LabDefinition | undefined>;
  /** Returns all labs, sorted by path, as `get` returns them. Leaves out labs for which `get` throws. */
  all(): Promise<readonly LabDefinition[]>;
  put(definition: LabDefinition, options?: PutOptions): Promise<void>;
  /** Edits the lab as it is on disk now. Changes of one lab run one after the other. Throws lab_not_found. */
  change(path: string, edit: (definition: LabDefinition) => LabDefinition, options?: PutOptions): Promise<void>;
  /**
   * Forgets the lab, and then removes its files. With keepDisks, the nodes' disks and the definition (as kept.json) stay, for a lab that its owner creates at the
   * same path later.
   */
  remove(path: string, options: { readonly keepDisks: boolean }): Promise<void>;
  /** Labs that were removed without their disks. */
  readonly kept: KeptLabs;
  /** Returns the directories of labs in quarantine, by id: their definition is missing, unreadable, or claims the path of another lab. */
  quarantined(): Promise<readonly QuarantinedDirectory[]>;
  /**
   * Takes a lab out of quarantine, by its file or the last good copy. Throws lab_not_found for an unknown id, lab_exists if its path is taken, and bad_request if
   * none of its definitions is readable.
   */
  restore(id: string): Promise<LabDefinition>;
  /** Returns the lab's directory, which exists after the first put. */
  directory(id: string): string;
}

export interface PutOptions {
  /** The write ends something and must succeed on a full disk: it may use the reserve. */
  readonly isEnding?: boolean;
}

export interface OpenOptions {
  /** The reserve for definitions that must be written on a full disk. */
  readonly spares?: Spares;
  /** Path → the lab that the service has a record of. The record decides which lab a disputed path belongs to. */
  readonly recorded?: ReadonlyMap<string, RecordedLab>;
}

export interface QuarantinedDirectory {
  readonly id: string;
  /** A text for people. */
  readonly reason: string;
  /** The definition of its file or of the last good copy. */
  readonly definition?: LabDefinition;
}

/**
 * @param state the state directory
 * @param trash takes the files of labs that are removed
 * @param warn called for a lab.json that is missing, unreadable or claims the path of another lab; nothing of such a lab is removed
 */
export async function openDefinitions(
  state: string,
  trash: Trash,
  warn: (text: string) => void,
  { spares, recorded = new Map() }: OpenOptions = {},
): Promise<Definitions> {
  const labs = join(state, "labs");
  await makeTraversableDirectory(labs);
  await spreadDirectories(labs);
  const store = new DefinitionStore(labs, trash, warn, { spares, recorded });
  await acceptLabs({ store, labs, trash, warn, recorded });
  return store;
}
