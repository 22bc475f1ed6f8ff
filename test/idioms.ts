import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A short list of idioms that texts of this project avoid, and where comments still have them. */

interface Idiom {
  readonly pattern: RegExp;
  readonly instead: string;
}

export const idioms = {
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
  // "is no longer" and "there is no" are correct.
  isNo: { pattern: /(?<=[\w)\]"'`}…*] )(?<!\bthere )(?:is|are) no (?!longer\b|more\b|other\b|less\b)[a-z]/i, instead: "is not a, are not" },
  wants: { pattern: /\b(?:is|are) to be (?:had|seen|got)\b/i, instead: "exists, is visible, is available" },
} as const satisfies Readonly<Record<string, Idiom>>;

export type IdiomName = keyof typeof idioms;
export const allIdioms = Object.keys(idioms) as readonly IdiomName[];

/** Returns the idioms in the text, each with the line's words and what to write instead. */
export function idiomsIn(text: string, free: readonly IdiomName[] = allIdioms): readonly string[] {
  return free.flatMap((name) =>
    text.split("\n").flatMap((line) => {
      const match = idioms[name].pattern.exec(line);
      return match === null ? [] : [`${name}: "${match[0].slice(0, 60)}": use ${idioms[name].instead}`];
    }),
  );
}

/** Returns the text of the comments of a TypeScript or C file, without their marks. */
export function commentsOf(source: string): string {
  const comments = source.match(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*/gm) ?? [];
  return comments
    .join("\n")
    .replaceAll(/^[ \t]*(?:\/\*+|\*+\/|\*+|\/\/)[ \t]?|[ \t]*\*+\/$/gm, "")
    .replaceAll(/`[^`\n]*`/g, "`…`");
}

/** Folders with a bound of their own. */
function folderOf(file: string): string {
  const parts = file.split("/");
  if (parts[0] !== "src") return parts[0]!;
  return parts.slice(0, parts[1] === "hosts" && parts.length > 3 ? 3 : 2).join("/");
}

/** Returns how many lines of comments have an idiom, by folder. Folders without one are left out. */
export function idiomCounts(): Readonly<Record<string, number>> {
  const root = fileURLToPath(new URL("..", import.meta.url));
  const files = globSync(["src/**/*.{ts,tsx}", "native/**/*.{c,h,ts}", "test/**/*.ts"], { cwd: root }).sort();
  const counts: Record<string, number> = {};
  for (const file of files) {
    // These files name the idioms.
    if (file === "test/idioms.ts" || file === "test/plain-english.test.ts") continue;
    const found = idiomsIn(commentsOf(readFileSync(`${root}/${file}`, "utf8"))).length;
    if (found > 0) counts[folderOf(file)] = (counts[folderOf(file)] ?? 0) + found;
  }
  return counts;
}
