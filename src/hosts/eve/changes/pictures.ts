import { Failure } from "../../../contract/errors.ts";
import { defined } from "../../../engine/shared/defined.ts";
import type { LabPicture } from "../../host-pictures.ts";
import { hostFailure } from "../api/host-failure.ts";
import type { UnlPicture } from "../lab-file/unl.ts";
import type { EvePlace } from "../labs/world.ts";
import type { EveLabPath } from "../read/lab-path.ts";

interface Picture {
  readonly picture: LabPicture;
  readonly bytes: Buffer;
}

/** Sorted by number. Read from the lab's file, because the host's own call for the bytes converts each picture to PNG. */
export async function readPictures({ world, account }: EvePlace, at: EveLabPath): Promise<readonly Picture[]> {
  const { lab } = await world.reader.read(account, at);
  if (lab.isPartial === true) throw hostFailure(`the pictures of ${at.path} cannot be read: the host does not export the lab as a file`);
  return [...lab.pictures].sort((a, b) => (a.id ?? 0) - (b.id ?? 0)).map(pictureOf);
}

export async function readPicture(place: EvePlace, at: EveLabPath, id: string): Promise<Picture> {
  const found = (await readPictures(place, at)).find(({ picture }) => picture.id === id);
  if (found !== undefined) return found;
  throw new Failure("picture_not_found", `${at.path} has no picture ${JSON.stringify(id)}; labwright pictures lists the pictures`);
}

function pictureOf({ id = 0, name = "", width, height, map = "", data = "" }: UnlPicture): Picture {
  const bytes = Buffer.from(data, "base64");
  const nodes = new Set([...map.matchAll(/\{\{NODE(\d+)\}\}/g)].map(([, node = ""]) => String(Number(node))));
  const size = defined<{ width?: number; height?: number }>({ width, height });
  return { picture: { id: String(id), name, ...size, bytes: bytes.length, start: bytes.subarray(0, 16), nodes: [...nodes] }, bytes };
}
