import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isTestCode, root, sources } from "./imports.ts";

/** The components and hooks of the pages are short: state and requests are in hooks, and each part of a view is a component of its own. */

const maxLines = 120;

/** Returns the functions at the top level of a formatted source, with their numbers of lines. */
function functionsOf(text: string): readonly (readonly [name: string, lines: number])[] {
  const lines = text.split("\n");
  return lines.flatMap((line, start) => {
    const name = /^(?:export )?(?:default )?(?:async )?(?:function\*? |const )(\w+)/.exec(line)?.[1];
    if (name === undefined) return [];
    const isOpen = /[({[]$/.test(line);
    const length = isOpen ? lines.slice(start + 1).findIndex((one) => /^[^\s)]/.test(one)) + 2 : 1;
    return [[name, length] as const];
  });
}

test("a component, a hook or another function of the pages has at most 120 lines", () => {
  const files = sources.filter((file) => file.startsWith("web/") && !isTestCode(file) && !file.includes(".test."));
  const found = files.flatMap((file) =>
    functionsOf(readFileSync(join(root, "src", file), "utf8")).map(([name, lines]) => ({ name: `${file}: ${name}`, lines })),
  );
  expect(found.length).toBeGreaterThan(500);
  expect(found.filter(({ lines }) => lines > maxLines)).toEqual([]);
});

test("the lines of a function are counted from its name to its last brace, also after parameters of several lines", () => {
  const text = "export function One() {\n  return 1;\n}\n\nfunction two(\n  a: number,\n): number {\n  return a;\n}\nconst three = 3;\n";
  expect(functionsOf(text)).toEqual([
    ["One", 3],
    ["two", 5],
    ["three", 1],
  ]);
});
