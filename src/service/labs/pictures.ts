import { Readable } from "node:stream";
import { Failure } from "../../contract/errors.ts";
import type { BytesAnswer } from "../../contract/operations.ts";
import type { PicturesData, TasksData } from "../../contract/schemas/pictures.ts";
import type { ProjectPayload } from "../../contract/schemas/project.ts";
import { endpointKeys, joinIds } from "../../engine/compare/join.ts";
import type { HostSession } from "../../hosts/host.ts";
import type { HostPictures, LabPicture } from "../../hosts/host-pictures.ts";
import type { Caller } from "../common/call.ts";
import { unsupported } from "../common/capabilities.ts";
import { labNotFound } from "../common/refusals.ts";
import { addressExisting } from "../context/address.ts";
import type { LookupParts } from "../context/parts.ts";

/** Larger pictures are listed, but cannot be downloaded. */
const maxPictureBytes = 8 * 1024 * 1024;

/** Detected from the bytes, because the type from the uploader could make a browser run the picture as a script. Each "?" matches any byte. */
const signatures: readonly { readonly type: string; readonly ending: string; readonly start: string }[] = [
  { type: "image/png", ending: "png", start: "\x89PNG\r\n\x1a\n" },
  { type: "image/jpeg", ending: "jpg", start: "\xff\xd8\xff" },
  { type: "image/gif", ending: "gif", start: "GIF8?a" },
  { type: "image/webp", ending: "webp", start: "RIFF????WEBP" },
];
const unknownType = { type: "application/octet-stream", ending: "bin" };

/** Returns the lab's pictures. Throws unsupported if the host has no pictures. */
export async function listPictures(context: LookupParts, caller: Caller, payload: ProjectPayload): Promise<PicturesData> {
  const { host, path, ids, intent } = await addressExisting(context, caller, payload);
  const pictures = await picturesOf(host);
  const observed = await host.observe(path);
  if (observed === null) throw labNotFound(path);
  const { nodes: keys } = endpointKeys(joinIds(intent?.lab ?? null, observed, ids));
  const listed = await pictures.list(path);
  return {
    lab: path,
    pictures: listed.map(({ id, name, start, bytes, width, height, nodes }) => ({
      picture: id,
      name: plainText(name).replace(/\s+/g, " "),
      media_type: kindOf(start).type,
      size_bytes: bytes,
      ...(width !== undefined && { width }),
      ...(height !== undefined && { height }),
      nodes: nodes.flatMap((node) => keys.get(node) ?? []),
    })),
  };
}

/** Returns one picture as it was uploaded. Any format except the usual picture formats is sent as a download of unknown type. */
export async function getPicture(context: LookupParts, caller: Caller, lab: string, id: string): Promise<BytesAnswer> {
  const { host, path } = await addressExisting(context, caller, { lab });
  const { picture, bytes } = await (await picturesOf(host)).read(path, id);
  if (picture.bytes > maxPictureBytes) {
    const text = `the picture is ${picture.bytes} bytes large, and ${maxPictureBytes} are answered at most: fetch it in the host's own pages`;
    throw new Failure("payload_too_large", text, { data: { limit: maxPictureBytes } });
  }
  const { type, ending } = kindOf(picture.start);
  const filename = `${path.slice(1).replaceAll("/", "-")}-${picture.name.replace(/\.\w+$/, "") || id}.${ending}`;
  return { mediaType: type, filename, body: Readable.from([bytes]) };
}

/** Returns the text that the lab's author wrote for its users. Throws unsupported if labs have no such text. */
export async function getTasks(context: LookupParts, caller: Caller, payload: ProjectPayload): Promise<TasksData> {
  const { host, path } = await addressExisting(context, caller, payload);
  if (!(await host.capabilities()).features.tasks || host.tasks === undefined) throw unsupported("tasks");
  return { lab: path, text: plainText(await host.tasks(path)) };
}

/** Throws unsupported. */
async function picturesOf(host: HostSession): Promise<HostPictures> {
  if (!(await host.capabilities()).features.pictures || host.pictures === undefined) throw unsupported("pictures");
  return host.pictures;
}

function kindOf(bytes: LabPicture["start"]): Pick<(typeof signatures)[number], "type" | "ending"> {
  const text = Buffer.from(bytes).toString("latin1");
  return signatures.find(({ start }) => [...start].every((one, at) => one === "?" || one === text[at])) ?? unknownType;
}

/** Normalizes line ends, and removes control characters and marks that change the direction of text. */
function plainText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this removes control characters
  return text.replace(/\r\n?/g, "\n").replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g, "");
}
