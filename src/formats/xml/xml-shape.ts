/** Limits of the input. The parser takes seconds for 100,000 elements, and runs out of memory for millions. Real labs have a few thousand. */
const maxElements = 20_000;
const maxAttributes = 200;
export const maxDepth = 64;

/** Why a document cannot be read, with its line if one is to blame. */
export class XmlError extends SyntaxError {
  /** From 1. */
  readonly line: number | undefined;
  constructor(message: string, line: number | undefined, options?: ErrorOptions) {
    super(message, options);
    this.line = line;
  }
}

/** Throws XmlError for a document that is too large to parse, in one pass over the text. Does not check whether it is XML. */
export function checkXmlShape(text: string): void {
  let elements = 0;
  let depth = 0;
  for (let at = text.indexOf("<"); at >= 0; at = text.indexOf("<", at)) {
    const skipped = skip(text, at);
    if (skipped !== undefined) at = skipped;
    else if (text[at + 1] === "/") {
      depth--;
      at = after(text, ">", at);
    } else {
      if (++elements > maxElements) throw new SyntaxError(`more than ${maxElements} elements`);
      at = endOfTag(text, at);
      if (text[at - 2] !== "/" && ++depth > maxDepth) throw new SyntaxError(`nested deeper than ${maxDepth} elements`);
    }
  }
}

/** Returns the end of a comment, a CDATA section or an instruction; undefined: something else is there. */
function skip(text: string, at: number): number | undefined {
  if (text.startsWith("<!--", at)) return after(text, "-->", at + 4);
  if (text.startsWith("<![CDATA[", at)) return after(text, "]]>", at);
  if (text.startsWith("<?", at)) return after(text, "?>", at);
  return text.startsWith("<!", at) ? after(text, ">", at) : undefined;
}

/** Returns the place behind the tag. A value in quotes may contain ">". */
function endOfTag(text: string, start: number): number {
  let attributes = 0;
  for (let at = start + 1; at < text.length; at++) {
    const character = text[at];
    if (character === ">") return at + 1;
    if (character !== '"' && character !== "'") continue;
    if (++attributes > maxAttributes) throw new SyntaxError(`an element has more than ${maxAttributes} attributes`);
    at = after(text, character, at + 1) - 1;
  }
  throw errorAt(text, start, "a tag does not end");
}

function after(text: string, end: string, from: number): number {
  const at = text.indexOf(end, from);
  if (at < 0) throw errorAt(text, from, `${JSON.stringify(end)} is missing`);
  return at + end.length;
}

function errorAt(text: string, at: number, message: string): XmlError {
  return new XmlError(message, text.slice(0, at).split("\n").length);
}
