import { htmlEntities } from "./html-entities.ts";
import type { UnlLab } from "./unl.ts";

/** The entities of htmlspecialchars without quotes. */
const authorEscapes: ReadonlyMap<string, string> = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
]);

/** The entities of htmlentities. PHP 8 also escapes the apostrophe. */
const nameEscapes: ReadonlyMap<string, string> = new Map([...htmlEntities, ["#039", "'"]]);

/**
 * The name of a network without the escapes that EVE-NG added. The host escapes the name whenever it loads the lab, and each save writes the result down: a name has one
 * layer of escapes more after each save. Returns the same text for any number of layers.
 */
export function plainNetworkName(name: string): string {
  return withoutEscapes(name, nameEscapes);
}

/** The author of a lab without the escapes that EVE-NG added: `&`, `<` and `>` alone, one layer more with each save. */
export function plainAuthor(author: string): string {
  return withoutEscapes(author, authorEscapes);
}

/** The lab of a file of the host, with the names that its users gave. */
export function withPlainNames(lab: UnlLab): UnlLab {
  return {
    ...lab,
    ...(lab.author !== undefined && { author: plainAuthor(lab.author) }),
    networks: lab.networks.map((network) => (network.name === undefined ? network : { ...network, name: plainNetworkName(network.name) })),
  };
}

/** Names of networks that the host keeps: those without anything that reads as an escape. */
export const networkNamePattern = `^(?![\\s\\S]*&(?:${[...nameEscapes.keys()].join("|")});)`;
export const networkNameReason =
  "EVE-NG escapes names at each save, so a name cannot hold an HTML entity such as &amp;: write the character that it stands for";

function withoutEscapes(text: string, escapes: ReadonlyMap<string, string>): string {
  for (let before = text; ; ) {
    // Thousands of saves make thousands of layers: those of "&" go at once.
    const after = before
      .replaceAll(/&(?:amp;)+/g, "&")
      .replaceAll(/&(#?[A-Za-z0-9]+);/g, (whole, name: string) => escapes.get(name) ?? whole);
    if (after === before) return after;
    before = after;
  }
}
