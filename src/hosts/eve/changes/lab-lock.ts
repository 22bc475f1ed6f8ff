import { hostFailure } from "../api/host-failure.ts";
import { settled } from "../api/pending-outcome.ts";
import type { EvePlace } from "../labs/world.ts";
import type { EveLabPath } from "../read/lab-path.ts";
import { type LabHead, mustReadHead, withHead } from "../read/lab-read.ts";
import { hasMissingImage } from "../templates/missing-image.ts";
import { writeLab } from "../write/write-lab.ts";

/** Sets or clears the lab's lock by the host's own call, or by an import if the host's save would lose images that nodes name. */
export async function writeLock(place: EvePlace, at: EveLabPath, head: LabHead, locked: boolean): Promise<void> {
  const { world, account, catalogue } = place;
  const isLocked = async () => (await mustReadHead(account, at)).lock !== 0;
  const before = world.edition.imports === "any" ? withHead(await world.reader.file(account, at), head) : undefined;
  if (before !== undefined && before.isPartial !== true && before.nodes.some((node) => hasMissingImage(catalogue, node))) {
    await writeLab(place, at, before, { ...before, lock: locked ? 1 : 0 }, { whole: true });
  } else {
    const word = locked ? "Lock" : "Unlock";
    await settled(
      `${word.toLowerCase()} lab ${at.path}`,
      () => account.call({ method: "PUT", path: `/api/labs${at.url}/${word}`, read: false }),
      ({ code }) => code === 60023,
      async () => (await isLocked()) === locked,
    );
  }
  world.reader.forget(at.path);
  if ((await isLocked()) === locked) return;
  throw hostFailure(`the host accepted the change, but the result differs: lock of lab ${at.path}: wanted ${locked}, got ${!locked}`);
}
