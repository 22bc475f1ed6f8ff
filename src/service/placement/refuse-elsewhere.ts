import { Elsewhere } from "../common/elsewhere.ts";
import type { Store } from "../store/store.ts";

/** Throws Elsewhere for a lab of another machine of the fleet. */
export async function refuseElsewhere({ store }: { readonly store: Pick<Store, "shared" | "labs"> }, path: string): Promise<void> {
  const owner = await store.shared?.machines.ownerOf(path, store.labs.get(path) !== undefined);
  if (owner !== undefined) throw new Elsewhere(owner.number, path);
}
