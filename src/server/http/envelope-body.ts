import { isShared } from "../../contract/shared-answer.ts";

/** A shared part as the bytes of its JSON, and the last complete answer that contained it. */
interface Written {
  readonly bytes: Buffer;
  /** The JSON text around the part in that answer. */
  around: string;
  answer: Buffer;
}

/** Entries live as long as the parts. */
const written = new WeakMap<object, Written>();

/**
 * Returns the envelope of a success, exactly as JSON.stringify would write it. Parts of the data that many callers get are converted to bytes only once. The
 * complete answer is cached too, if the text around its only shared part is unchanged. Callers share the returned bytes and must not change them.
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
  // JSON never contains this character unescaped.
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
