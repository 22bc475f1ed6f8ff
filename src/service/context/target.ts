import type { HostSession, NativeIds } from "../../hosts/host.ts";
import type { Caller } from "../common/call.ts";
import type { LabRecord, ProjectMode } from "../store/store.ts";
import type { Intent } from "../work/intents.ts";

/** The project of a call. */
export interface Target {
  readonly path: string;
  readonly mode: ProjectMode;
  /** The manifest asks for mode load. */
  readonly loaded?: true;
  readonly caller: Caller;
  /** The caller's session, or the owner's if the lab is shared with the caller. */
  readonly host: HostSession;
  /** Absent: the service does not manage this lab. */
  readonly record?: LabRecord;
  /** The sent intent, else the intent of the last apply. */
  readonly intent?: Intent;
  /** The caller sent its yaml. */
  readonly sent: boolean;
  /** The source of an imported lab that comes with the change. */
  readonly source?: unknown;
  /** Free text of the caller about where the intent is kept. */
  readonly origin?: string;
  /** Native ids from the caller's state, else from the record. */
  readonly ids: NativeIds;
}

/** A project with the intent that a change applies. */
export type WantedTarget = Target & { readonly intent: Intent };

/** The lab at a path, for one caller: the part of a Target that needs no payload. */
export type LabPlace = Pick<Target, "path" | "caller" | "host" | "record" | "ids">;

export const noIds: NativeIds = { nodes: {}, networks: {}, links: {} };
