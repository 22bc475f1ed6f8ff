import type { CopiedExtra, ExtrasCopy } from "../../host.ts";
import { listOf, recordOf, textOf } from "../api/answer.ts";
import type { UnlLab } from "../lab-file/unl.ts";
import type { EvePlace } from "../labs/world.ts";
import { extrasReport } from "../read/extras-report.ts";
import { withExtras } from "../read/lab-extras.ts";
import type { EveLabPath } from "../read/lab-path.ts";
import { mustReadHead, withHead } from "../read/lab-read.ts";
import { writeLab } from "../write/write-lab.ts";

/**
 * Copies the extras of another lab, the parts beyond its definition, into a lab. Only reads the source. Writes nothing if the copy already has all
 * extras. Throws lab_not_found, host_error.
 */
export async function copyExtras(place: EvePlace, from: EveLabPath, to: EveLabPath, about: ExtrasCopy): Promise<readonly CopiedExtra[]> {
  const source = await readWhole(place, from);
  const before = await readWhole(place, to);
  const asFile = place.world.edition.imports === "any" && before.isPartial !== true;
  const { got } = await writeLab(place, to, before, withExtras(source, before, about, asFile));
  return [...extrasReport(source, got, about, place.catalogue), ...(source.isPartial === true ? await unreadPictures(place, from) : [])];
}

async function readWhole({ world, account }: EvePlace, at: EveLabPath): Promise<UnlLab> {
  const head = await mustReadHead(account, at);
  return withHead(await world.reader.file(account, at), head);
}

/** The host lists them, but returns their contents in another format than it accepts. */
async function unreadPictures({ account }: EvePlace, at: EveLabPath): Promise<readonly CopiedExtra[]> {
  const doing = `list the pictures of ${at.path}`;
  return listOf(await account.get(`/api/labs${at.url}/pictures`, doing), doing).map(([, picture]) => {
    const name = JSON.stringify(textOf(recordOf(picture).name) ?? "");
    return { level: "dropped", message: `the picture ${name}: the host does not export this lab as a file` };
  });
}
