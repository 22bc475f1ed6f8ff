import { AsyncLocalStorage } from "node:async_hooks";
import type { PlacementFacts } from "./elsewhere.ts";

/** The call for which the current work is done. */
export interface CurrentCall {
  readonly user: string;
  /** Called with the path of the lab that the call is about, also if the lab does not exist or the call is refused. */
  readonly onLab?: ((path: string) => void) | undefined;
  /** As in Call. */
  readonly isForwarded?: boolean;
  /** The machine of the new lab that the call is about. */
  placement?: PlacementFacts | undefined;
}

/** Not set for the service's own work. */
export const currentCall = new AsyncLocalStorage<CurrentCall>();
