import { globSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { errors } from "../src/contract/errors.ts";
import { pages } from "./docs-blocks.ts";
import { allIdioms as all, commentsOf, type IdiomName, idiomCounts, idioms, idiomsIn } from "./idioms.ts";

/**
 * Keeps a short list of idioms out of the texts that people read. To extend it: add an idiom to the list, or its name to a text that is free of it. An idiom that
 * was removed from a text everywhere belongs into its row at once, so that it does not come back.
 */

/** Generated pages are the texts of code: they have rows of their own. */
const generated = ["docs/api.md", "docs/cli.md", "docs/errors.md"];

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");

/** Texts that people read, with the idioms that they are free of. */
const texts: readonly { readonly name: string; readonly text: string; readonly free: readonly IdiomName[] }[] = [
  ...pages.filter(({ name }) => !generated.includes(name)).map(({ name, text }) => ({ name, text: prose(text), free: all })),
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
  expect(idiomsIn(text, free)).toEqual([]);
});

test.each([
  ["tell", "The status tells the load."],
  ["whatSubject", "- What is left is removed."],
  ["whereIf", "It ends. Where the host is full, it fails."],
  ["isNo", "A missing tree is no error."],
] as const)("%s is found in %j", (name, line) => {
  expect(line).toMatch(idioms[name].pattern);
});

test("there is no, and is no longer, are correct", () => {
  expect("There is no lab; if there are no nodes, it is no longer shown.").not.toMatch(idioms.isNo.pattern);
});

test("a question is not a relative clause", () => {
  expect("What does a plan show?").not.toMatch(idioms.whatSubject.pattern);
});

const boundsFile = new URL("idiom-bounds.json", import.meta.url);

test("comments of no folder have more idioms than its bound, and a bound is lowered with the comments", () => {
  const counts = idiomCounts();
  if (process.env["LABWRIGHT_UPDATE_BOUNDS"] === "1") writeFileSync(boundsFile, `${JSON.stringify(counts, null, 2)}\n`);
  const bounds: unknown = JSON.parse(readFileSync(boundsFile, "utf8"));
  const hint =
    "Rewrite new idioms. For fewer idioms: LABWRIGHT_UPDATE_BOUNDS=1 npx vitest run test/plain-english.test.ts, and commit test/idiom-bounds.json";
  expect(counts, hint).toEqual(bounds);
});

test("idioms are found in comments, and neither in code nor in code quoted by a comment", () => {
  const source = `/** What remains is removed. */
const told = "What is told";
/*
 * Where it is full, it fails.
 */
let url = "https://tell"; // it tells the load
// \`told\` is a member
`;
  expect(idiomsIn(commentsOf(source)).map((line) => line.split(":")[0])).toEqual(["tell", "whatSubject", "whereIf"]);
});
