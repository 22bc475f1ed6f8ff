import fc from "fast-check";
import { expect, test } from "vitest";
import { htmlEntities } from "../../../formats/html/html-entities.ts";
import { networkNamePattern, plainAuthor, plainNetworkName } from "./host-names.ts";

const escapes = new Map([...htmlEntities].map(([name, character]) => [character, `&${name};`]));
const asPhp = (quotes: boolean) => (text: string) =>
  [...text].map((character) => (quotes && character === "'" ? "&#039;" : (escapes.get(character) ?? character))).join("");
const layers = (text: string, count: number, layer: (text: string) => string): string =>
  count === 0 ? text : layers(layer(text), count - 1, layer);

test("HTML 4.01 has 252 entities, each of another character", () => {
  expect(htmlEntities.size).toBe(252);
  expect(new Set(htmlEntities.values()).size).toBe(252);
  expect(["nbsp", "yuml", "euro", "uuml", "quot", "diams"].map((name) => htmlEntities.get(name))).toEqual([
    "\u00a0",
    "ÿ",
    "€",
    "ü",
    '"',
    "♦",
  ]);
});

test("a network name that the host can keep is the same after any number of saves", () => {
  const words = fc.array(fc.constantFrom("&", "<", ">", '"', "'", "ü", "€", "😀", "a", ";", "amp", "#039", "&T;", "R&D", " "), {
    maxLength: 8,
  });
  const keeps = new RegExp(networkNamePattern);
  fc.assert(
    fc.property(words, fc.nat(5), fc.boolean(), (parts, saves, quotes) => {
      const name = parts.join("");
      expect(keeps.test(name)).toBe(plainNetworkName(name) === name);
      if (keeps.test(name)) expect(plainNetworkName(layers(name, saves, asPhp(quotes)))).toBe(name);
    }),
  );
});

test("a name that reads as an escape is none that the host can keep", () => {
  const keeps = new RegExp(networkNamePattern);
  for (const name of ["R&amp;D", "a\nb&uuml;", "&#039;", "&amp;amp;"]) expect([name, keeps.test(name)]).toEqual([name, false]);
  for (const name of ["R&D", "AT&T;", "&#9731;", "&Auml", "amp;", "&AMP;"]) expect([name, keeps.test(name)]).toEqual([name, true]);
});

test("ten thousand saves cost no more than a moment", () => {
  const began = performance.now();
  expect(plainNetworkName(`R&${"amp;".repeat(10_000)}D`)).toBe("R&D");
  expect(performance.now() - began).toBeLessThan(1_000);
});

test("an author loses escapes of &, < and > alone", () => {
  const special = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const author = `a&b<c>d"e'f ü € 😀`;
  for (let saves = 0; saves < 4; saves++) expect(plainAuthor(layers(author, saves, special))).toBe(author);
  expect(plainAuthor("&amp;uuml;")).toBe("&uuml;");
});
