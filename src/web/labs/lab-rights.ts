import type { StatusData } from "../../contract/schemas/observe.ts";

/** The user's rights on a lab. */
export interface LabRights {
  /** Power, consoles, links and captures. */
  readonly operate: boolean;
  /** The lab's text, and the positions of its nodes. */
  readonly edit: boolean;
  /** Why rights are missing. */
  readonly reason?: string;
}

/** @param viewer whether the user's role is viewer @param status of the lab; undefined: not known yet, so without rights */
export function labRights(viewer: boolean, status: StatusData | undefined): LabRights {
  if (viewer) return { operate: false, edit: false, reason: "read-only for you, as a viewer" };
  if (status === undefined) return { operate: false, edit: false };
  switch (status.right) {
    case "view":
      return { operate: false, edit: false, reason: "shared with you, read-only" };
    case "operate":
      return { operate: true, edit: false, reason: "shared with you to operate, but not to edit" };
    default:
      // For a lab without a record in the service the host decides.
      return { operate: true, edit: true };
  }
}
