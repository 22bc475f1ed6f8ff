import type { StatusData } from "../../contract/schemas/observe.ts";

/** What of a lab is offered to who looks at it. */
export interface LabRights {
  /** Power, consoles, links and captures. */
  readonly operate: boolean;
  /** What the lab is, and where its nodes are drawn. */
  readonly edit: boolean;
  /** Why not all of it. */
  readonly why?: string;
}

/** @param viewer by role @param status of the lab; undefined: not known yet, so that nothing is offered that would be refused */
export function labRights(viewer: boolean, status: StatusData | undefined): LabRights {
  if (viewer) return { operate: false, edit: false, why: "yours to look at, as a viewer" };
  if (status === undefined) return { operate: false, edit: false };
  switch (status.right) {
    case "view":
      return { operate: false, edit: false, why: "shared with you to look at" };
    case "operate":
      return { operate: true, edit: false, why: "shared with you to operate, not to change its text" };
    default:
      // Of a lab that nobody manages here its host decides.
      return { operate: true, edit: true };
  }
}
