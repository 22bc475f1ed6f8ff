import { isShared } from "../contract/shared-answer.ts";

/** Shared parts as the bytes of their JSON; as long as they live. */
const written = new WeakMap<object, Buffer>();

/**
 * The envelope of a success, just as JSON.stringify would write it; parts of the data that many callers get are put into words, and these into
 * bytes, once for all of them.
 */
export function envelopeBody(data: unknown): string | Buffer {
  if (!hasSharedParts(data)) return JSON.stringify({ ok: true, data });
  const parts: Buffer[] = [];
  let text = '{"ok":true,"data":{';
  let first = true;
  for (const [name, value] of Object.entries(data)) {
    const bytes = isShared(value) ? bytesOf(value) : JSON.stringify(value);
    if (bytes === undefined) continue;
    text += `${first ? "" : ","}${JSON.stringify(name)}:`;
    first = false;
    if (typeof bytes === "string") text += bytes;
    else {
      parts.push(Buffer.from(text), bytes);
      text = "";
    }
  }
  return Buffer.concat([...parts, Buffer.from(`${text}}}`)]);
}

function hasSharedParts(data: unknown): data is Readonly<Record<string, unknown>> {
  return typeof data === "object" && data !== null && !Array.isArray(data) && Object.values(data).some(isShared);
}

function bytesOf(value: object): Buffer {
  const known = written.get(value);
  if (known !== undefined) return known;
  const bytes = Buffer.from(JSON.stringify(value));
  written.set(value, bytes);
  return bytes;
}
