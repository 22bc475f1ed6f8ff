import type { Host } from "../../hosts/host.ts";
import type { Caller } from "../common/call.ts";
import { labNotFound } from "../common/refusals.ts";
import type { LabRecord, Store } from "../store/store.ts";
import { refuseOutOfReach, rightOn, seesUnrecorded } from "./rights.ts";

/** Returns the record of an existing lab. Throws lab_not_found if the caller may not see the lab, and as refuseOutOfReach. */
export function recordFor(
  { host, store }: { readonly host: Pick<Host, "holds">; readonly store: Pick<Store, "labs"> },
  caller: Caller,
  path: string,
): LabRecord | undefined {
  refuseOutOfReach(caller, path);
  const record = store.labs.get(path);
  const seen = record === undefined ? seesUnrecorded(host, caller) : rightOn(record, caller) !== undefined;
  if (!seen) throw labNotFound(path);
  return record;
}
