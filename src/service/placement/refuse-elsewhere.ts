import type { Failure } from "../../contract/errors.ts";
import { Elsewhere } from "../common/elsewhere.ts";
import type { LabRecord, Store } from "../store/store.ts";

/**
 * Throws Elsewhere for a lab of another machine of the fleet.
 * @param hidden returns the failure for a caller who may not see the lab. That machine is then not asked: if it does not answer, the failure would show that
 * the lab exists.
 */
export async function refuseElsewhere(
  { store }: { readonly store: Pick<Store, "shared" | "labs"> },
  path: string,
  hidden: (record: LabRecord) => Failure | undefined = () => undefined,
): Promise<void> {
  const record = store.labs.get(path);
  const owner = await store.shared?.machines.ownerOf(path, record !== undefined);
  if (owner !== undefined) throw (record && hidden(record)) ?? new Elsewhere(owner.number, path);
}
