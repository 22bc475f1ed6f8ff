import { isShared } from "../../contract/shared-answer.ts";

/** A shared part as the bytes of its JSON, and the last whole answer it was in. */
interface Written {
  readonly bytes: Buffer;
  /** What stands around it in the answer. */
  around: string;
  answer: Buffer;
}

/** As long as the parts live. */
const written = new WeakMap<object, Written>();

/**
 * The envelope of a success, just as JSON.stringify would write it. Parts of the data that many callers get are put into words, and these into
 * bytes, once for all of them; and so is the whole answer, where what stands around its last shared part is the same again. Its bytes belong to all
 * who get them.
 */
export function envelopeBody(data: unknown): string | Buffer {
  if (!hasSharedParts(data)) return JSON.stringify({ ok: true, data });
  const parts: { readonly before: string; readonly part: Written }[] = [];
  let text = '{"ok":true,"data":{';
  let first = true;
  for (const [name, value] of Object.entries(data)) {
    const part = isShared(value) ? writtenPart(value) : undefined;
    const words = part === undefined ? JSON.stringify(value) : "";
    if (words === undefined) continue;
    text += `${first ? "" : ","}${JSON.stringify(name)}:${words}`;
    first = false;
    if (part === undefined) continue;
    parts.push({ before: text, part });
    text = "";
  }
  const rest = `${text}}}`;
  const only = parts.length === 1 ? parts[0] : undefined;
  // No word of JSON holds this character as it is.
  const around = only === undefined ? "" : `${only.before}\0${rest}`;
  if (only !== undefined && only.part.around === around) return only.part.answer;
  const answer = Buffer.concat([...parts.flatMap(({ before, part }) => [Buffer.from(before), part.bytes]), Buffer.from(rest)]);
  if (only !== undefined) Object.assign(only.part, { around, answer });
  return answer;
}

function hasSharedParts(data: unknown): data is Readonly<Record<string, unknown>> {
  return typeof data === "object" && data !== null && !Array.isArray(data) && Object.values(data).some(isShared);
}

function writtenPart(value: object): Written {
  const known = written.get(value);
  if (known !== undefined) return known;
  const bytes = Buffer.from(JSON.stringify(value));
  const part: Written = { bytes, around: "", answer: bytes };
  written.set(value, part);
  return part;
}
