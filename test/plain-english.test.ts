import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { errors } from "../src/contract/errors.ts";
import { pages } from "./docs-blocks.ts";

/**
 * Keeps a short list of idioms out of the texts that people read. To extend it: add an idiom to the list, or its name to a text that is free of it. An idiom that
 * was removed from a text everywhere belongs into its row at once, so that it does not come back.
 */

interface Idiom {
  readonly pattern: RegExp;
  readonly instead: string;
}

const idioms = {
  tell: { pattern: /\b(?:tell|tells|told|telling)\b/i, instead: "reports, returns, logs, shows, names" },
  say: { pattern: /\b(?:say|says|said|saying)\b/i, instead: "reports, contains, states; or name the thing itself" },
  anew: { pattern: /\banew\b/i, instead: "again; recreates" },
  whatSubject: {
    pattern: /(?:^#+ |^|[.:;|] |^\s*[-*] |\*\*)What [a-z][^?\n]*$/,
    instead: 'a noun as the subject, not a clause with "What"',
  },
  whereIf: { pattern: /(?:^|[.:;] )Where [^?\n]*,/, instead: "if, for a condition" },
  whoever: { pattern: /\b(?:whoever|whatever|whichever)\b/i, instead: "name who or what" },
  butFor: { pattern: /\bbut for\b|\bbut not where\b/i, instead: "except" },
  heed: { pattern: /\bheed(?:s|ed)?\b/i, instead: "respects, reacts to" },
  wants: { pattern: /\b(?:is|are) to be (?:had|seen|got)\b/i, instead: "exists, is visible, is available" },
} as const satisfies Readonly<Record<string, Idiom>>;

type IdiomName = keyof typeof idioms;

/** Generated pages are the texts of code: they have rows of their own. */
const generated = ["docs/api.md", "docs/cli.md", "docs/errors.md"];
/** Hand-written pages that are not rewritten yet. Remove a name as soon as its page passes. */
const notYet = ["docs/hosts/eve.md", "docs/hosts/eve-numbers.md", "docs/hosts/eve-assumptions.md", "ARCHITECTURE.md", "CONTRIBUTING.md"];

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
const all = Object.keys(idioms) as readonly IdiomName[];

/** Texts that people read, with the idioms that they are free of. */
const texts: readonly { readonly name: string; readonly text: string; readonly free: readonly IdiomName[] }[] = [
  ...pages
    .filter(({ name }) => !generated.includes(name) && !notYet.includes(name))
    .map(({ name, text }) => ({ name, text: prose(text), free: all })),
  { name: "help of the command line (docs/cli.md)", text: read("docs/cli.md"), free: all },
  {
    name: "error codes (src/contract/errors.ts)",
    text: Object.values(errors)
      .map((row) => row.when)
      .join("\n"),
    free: all,
  },
  {
    name: "error messages (new …Error and new …Failure below src/)",
    text: errorMessages(),
    free: all.filter((name) => name !== "say" && name !== "anew"),
  },
];

/** Without code: fenced blocks and code in lines quote programs. */
function prose(text: string): string {
  return text.replaceAll(/^( *)```.*?^\1```$/gms, "").replaceAll(/`[^`\n]*`/g, "`…`");
}

/** The string literals of errors that are made in the sources, one a line. */
function errorMessages(): string {
  const root = fileURLToPath(new URL("..", import.meta.url));
  const files = globSync("src/**/*.{ts,tsx}", { cwd: root }).filter((name) => !/\.test\.|\.fixture\.|\/test-/.test(name));
  const made = files.flatMap((name) => [...read(name).matchAll(/new \w*(?:Failure|Error)\(((?:[^()]|\([^()]*\))*)\)/g)]);
  return made
    .flatMap(([, call = ""]) =>
      [...call.matchAll(/"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g)].map(([, plain, template]) => plain ?? template ?? ""),
    )
    .join("\n");
}

test("error messages are found in the sources", () => {
  expect(errorMessages().split("\n").length).toBeGreaterThan(500);
});

test.each(texts)("$name is free of banned idioms", ({ text, free }) => {
  const found = free.flatMap((name) =>
    text.split("\n").flatMap((line) => {
      const match = idioms[name].pattern.exec(line);
      return match === null ? [] : [`${name}: "${match[0].slice(0, 60)}": use ${idioms[name].instead}`];
    }),
  );
  expect(found).toEqual([]);
});

test.each([
  ["tell", "The status tells the load."],
  ["whatSubject", "- What is left is removed."],
  ["whereIf", "It ends. Where the host is full, it fails."],
] as const)("%s is found in %j", (name, line) => {
  expect(line).toMatch(idioms[name].pattern);
});

test("a question is no relative clause", () => {
  expect("What does a plan show?").not.toMatch(idioms.whatSubject.pattern);
});
