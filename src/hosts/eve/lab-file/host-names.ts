import { htmlEntities } from "../../../formats/html/html-entities.ts";
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
 * Returns the name of a network without the escapes that EVE-NG added. The host escapes the name at each load of the lab and stores the result at
 * each save, so that each save adds a layer of escapes. Returns the same text for any number of layers.
 */
export function plainNetworkName(name: string): string {
  return withoutEscapes(name, nameEscapes);
}

/** Returns the author of a lab without the escapes that EVE-NG added: only of `&`, `<` and `>`, one layer with each save. */
export function plainAuthor(author: string): string {
  return withoutEscapes(author, authorEscapes);
}

/** Returns the lab of a file with the original names, without the host's escapes. */
export function withPlainNames(lab: UnlLab): UnlLab {
  return {
    ...lab,
    ...(lab.author !== undefined && { author: plainAuthor(lab.author) }),
    networks: lab.networks.map((network) => (network.name === undefined ? network : { ...network, name: plainNetworkName(network.name) })),
  };
}

/** Matches names of networks that the host does not change: names without text that looks like an escape. */
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
