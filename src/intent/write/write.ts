/** Data that is written as YAML; undefined fields are left out. */
export type Data = string | number | boolean | null | readonly Data[] | { readonly [key: string]: Data | undefined };

/** A list or map that is written on one line ({…}, […]) if it is short. */
export const MAX_FLOW_WIDTH = 110;

/** The key of data that is written as a merge key, without quotes; the text "<<" as an ordinary key is quoted. */
export const MERGE_KEY = "\0<<";

export type Quote = '"' | "'" | "";

/** Texts that YAML 1.2 or 1.1 reads as something other than text. */
const NOT_A_TEXT =
  /^(?:~|null|true|false|yes|no|on|off|<<|=|[-+]?(?:\.?\d[\d_]*)(?:\.\d*)?(?:e[-+]?\d+)?|0x[\da-f]+|0o[0-7]+|0b[01]+|[-+]?\.inf|\.nan|[-+]?\d+(?::\d+)+(?:\.\d*)?|\d{4}-\d\d?-\d\d?.*)$/i;
const PLAIN = /^[\p{L}\d_./](?:[\p{L}\d_./@+() -]*[\p{L}\d_./@+()-])?$/u;

/** Returns a text as a scalar of one line: plain if that is safe, otherwise in the wanted quotes. */
export function writeText(text: string, quote: Quote = ""): string {
  if (quote === "" && PLAIN.test(text) && !NOT_A_TEXT.test(text) && !text.startsWith("---") && !text.startsWith("...")) return text;
  if (quote === "'" && /^[ -~]*$/.test(text)) return `'${text.replaceAll("'", "''")}'`;
  // JSON's quotes are valid in YAML. Characters that JSON does not escape and YAML forbids are escaped too.
  return JSON.stringify(text).replace(/[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g, (character) => {
    return `\\u${(character.codePointAt(0) as number).toString(16).padStart(4, "0")}`;
  });
}

export function writeScalar(value: string | number | boolean | null, quote: Quote = ""): string {
  if (typeof value === "string") return writeText(value, quote);
  return String(value);
}

export function writeKey(key: string): string {
  return key === MERGE_KEY ? "<<" : writeText(key);
}

/** Returns the value on one line. */
export function writeFlow(data: Data, quote: Quote = ""): string {
  if (isList(data)) return `[${data.map((item) => writeFlow(item, quote)).join(", ")}]`;
  if (isRecord(data)) {
    const fields = present(data).map(([key, value]) => `${writeKey(key)}: ${writeFlow(value, quote)}`);
    return `{${fields.join(", ")}}`;
  }
  return writeScalar(data, quote);
}

/** auto: one line if that reads well; flow: one line; block: one line per entry. */
export type Style = "auto" | "flow" | "block";

export interface WriteOptions {
  readonly quote?: Quote;
  /** The style of the outermost collection. */
  readonly style?: Style;
  /** Spaces for each level of maps; 2 unless given. */
  readonly step?: number;
}

/** Returns the text behind a key: " value" on the same line, or the lines below, each with `indent` spaces or more. No line break at the end. */
export function writeAfterKey(data: Data, indent: number, options: WriteOptions = {}): string {
  const { quote = "", style = "auto" } = options;
  const inner = without(options);
  if (style === "flow") return ` ${writeFlow(data, quote)}`;
  if (typeof data === "string") return ` ${blockText(data, indent) ?? writeText(data, quote)}`;
  if (isList(data)) {
    if (data.length === 0) return " []";
    if (style !== "block" && isShort(data)) return ` ${writeFlow(data, quote)}`;
    return `\n${data.map((item) => writeItem(item, indent, inner)).join("\n")}`;
  }
  if (isRecord(data)) {
    const fields = present(data);
    if (fields.length === 0) return " {}";
    if (style !== "block" && isShort(data)) return ` ${writeFlow(data, quote)}`;
    return `\n${fields.map(([key, value]) => writePair(key, value, indent, inner)).join("\n")}`;
  }
  return ` ${writeScalar(data, quote)}`;
}

function without({ style: _, ...rest }: WriteOptions): WriteOptions {
  return rest;
}

/** Returns `key: value` with its indent, in as many lines as necessary. */
export function writePair(key: string, value: Data, indent: number, options: WriteOptions = {}): string {
  return `${" ".repeat(indent)}${writeKey(key)}:${writeAfterKey(value, indent + (options.step ?? 2), options)}`;
}

/** Returns `- value` with its indent; a map begins on the line of the hyphen. */
export function writeItem(value: Data, indent: number, options: WriteOptions = {}): string {
  const { quote = "", style = "auto" } = options;
  const hyphen = `${" ".repeat(indent)}- `;
  if (isList(value) || style === "flow") return hyphen + writeFlow(value, quote);
  if (isRecord(value) && present(value).length > 0 && (style === "block" || !isFlat(value, 1) || !isShort(value))) {
    const lines = present(value).map(([key, field]) => writePair(key, field, indent + 2, without(options)));
    return hyphen + lines.join("\n").slice(indent + 2);
  }
  return hyphen + writeAfterKey(value, indent + 2, without(options)).trimStart();
}

/** Returns a literal block if it represents the text exactly; its lines have `indent` spaces. */
export function blockText(text: string, indent: number): string | undefined {
  const body = text.endsWith("\n") ? text.slice(0, -1) : text;
  if (!text.includes("\n") || body === "" || body.endsWith("\n") || /^[ \t\n]/.test(body)) return undefined;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a block cannot contain these
  if (/[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|\p{Cs}/u.test(text)) return undefined;
  // A last line of spaces only would be lost with the final line breaks.
  if (/\n[ \t]+$/.test(body)) return undefined;
  const lines = body.split("\n").map((line) => (line === "" ? "" : " ".repeat(indent) + line));
  return `${text.endsWith("\n") ? "|" : "|-"}\n${lines.join("\n")}`;
}

export function isList(data: Data | undefined): data is readonly Data[] {
  return Array.isArray(data);
}

export function isRecord(data: Data | undefined): data is { readonly [key: string]: Data | undefined } {
  return typeof data === "object" && data !== null && !Array.isArray(data);
}

export function present(data: { readonly [key: string]: Data | undefined }): readonly (readonly [string, Data])[] {
  return Object.entries(data).filter((entry): entry is [string, Data] => entry[1] !== undefined);
}

/** Whether one line reads better than several: a short list of scalars, or a short map of scalars or pairs of them. */
function isShort(data: Data): boolean {
  return isFlat(data, 2) && !hasLineBreak(data) && writeFlow(data).length <= MAX_FLOW_WIDTH;
}

/** Whether lists and maps are at most `levels` deep in each other. */
function isFlat(data: Data, levels: number): boolean {
  if (isList(data)) return levels > 0 && data.every((item) => isFlat(item, levels - 1));
  if (isRecord(data)) return levels > 0 && present(data).every(([, value]) => isFlat(value, levels - 1));
  return true;
}

function hasLineBreak(data: Data): boolean {
  if (typeof data === "string") return data.includes("\n");
  if (isList(data)) return data.some(hasLineBreak);
  return isRecord(data) && present(data).some(([, value]) => hasLineBreak(value));
}
