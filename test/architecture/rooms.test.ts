import { readFile } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { describe, expect, test } from "vitest";
import { imports, isTestCode, root, sources } from "./imports.ts";
import { circles, crowded, entries, lists, maxFiles, rooms } from "./rooms.ts";

const product = sources.filter((file) => !isTestCode(file));
const edges = imports
  .filter(({ from }) => from.startsWith("."))
  .map(({ file, from }) => ({ file, to: normalize(join(dirname(file), from)) }));

/** The room of a file within a layer: "" for a file directly in the layer's folder, undefined for one outside. */
function roomOf(layer: string, file: string): string | undefined {
  const folder = dirname(file);
  if (folder === layer) return "";
  return folder.startsWith(`${layer}/`) ? folder.slice(layer.length + 1) : undefined;
}

describe.each(Object.entries(rooms))("rooms of %s", (layer, table) => {
  const names = Object.keys(table);

  test("each folder with sources is a room, and each room has sources", () => {
    const found = new Set(product.map((file) => roomOf(layer, file)).filter((room) => room !== undefined && room !== ""));
    expect([...found].sort()).toEqual([...names].sort());
  });

  test("a room imports only what its row names, and nothing is named that is not imported", () => {
    const arrows = new Map(names.map((name) => [name, new Set<string>()]));
    for (const { file, to } of edges) {
      const [from, target] = [roomOf(layer, file), roomOf(layer, to)];
      if (from !== undefined && from !== "" && target !== undefined && target !== from) {
        arrows.get(from)?.add(target === "" ? `${to}, which builds on the rooms` : target);
      }
    }
    expect(Object.fromEntries([...arrows].map(([name, to]) => [name, [...to].sort()]))).toEqual(
      Object.fromEntries(names.map((name) => [name, [...(table[name] ?? [])].sort()])),
    );
  });

  test("the table points one way: to rooms above", () => {
    const wrong = names.flatMap((name, at) => (table[name] ?? []).filter((other) => names.indexOf(other) >= at || !names.includes(other)));
    expect(wrong).toEqual([]);
  });

  test("ARCHITECTURE.md says what is in each room", async () => {
    const text = await readFile(join(root, "ARCHITECTURE.md"), "utf8");
    const [, section = ""] = text.split(`\n### \`src/${layer}\`:`);
    const listed = [...(section.split(/\n##/)[0] ?? "").matchAll(/^\| `([^`]+)\/` \| [^|]{3,} \|$/gm)].map(([, name = ""]) => name);
    // Rooms of tests alone may be listed too.
    expect(listed.filter((name) => names.includes(name))).toEqual(names);
  });
});

test("a folder has few files directly in it, or is a list of one kind", () => {
  const count = new Map<string, number>();
  for (const file of sources) count.set(dirname(file), (count.get(dirname(file)) ?? 0) + 1);
  const large = [...count].filter(([folder, files]) => files > maxFiles && lists[folder] === undefined);
  expect(Object.fromEntries(large)).toEqual(crowded);
});

test("files that import each other in a circle lie in one folder, types included", () => {
  const found = knots(new Map(product.map((file) => [file, edges.filter((edge) => edge.file === file).map(({ to }) => to)])));
  const wide = found.filter((knot) => new Set(knot.map(dirname)).size > 1).map((knot) => knot.sort().join(" "));
  expect(wide.sort()).toEqual(Object.keys(circles).sort());
});

test("what only tests import is test code", () => {
  const imported = new Set(edges.map(({ to }) => to));
  expect(product.filter((file) => !imported.has(file)).sort()).toEqual(
    Object.keys(entries)
      .filter((file) => !imported.has(file))
      .sort(),
  );
  expect(Object.keys(entries).filter((file) => !product.includes(file))).toEqual([]);
});

test("test code is compiled into no package", async () => {
  const layers = new Set(product.map((file) => file.split("/")[0] ?? "").filter((layer) => layer !== "web"));
  for (const layer of layers) {
    const { exclude } = JSON.parse(await readFile(join(root, "src", layer, "tsconfig.json"), "utf8")) as { exclude: string[] };
    expect(exclude, layer).toEqual(expect.arrayContaining(["**/*.test.ts", "**/*.arbitrary.ts", "**/*.fixture.ts"]));
  }
});

/** Sets of more than one file of which each leads to each (Tarjan). */
function knots(next: ReadonlyMap<string, readonly string[]>): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const found: string[][] = [];
  const visit = (file: string): void => {
    index.set(file, index.size);
    low.set(file, index.get(file)!);
    stack.push(file);
    for (const other of next.get(file) ?? []) {
      if (!index.has(other)) visit(other);
      if (stack.includes(other)) low.set(file, Math.min(low.get(file)!, low.get(other)!));
    }
    if (low.get(file) !== index.get(file)) return;
    const knot = stack.splice(stack.indexOf(file));
    if (knot.length > 1) found.push(knot);
  };
  for (const file of next.keys()) if (!index.has(file)) visit(file);
  return found;
}

test("a knot is found across files, and a chain is none", () => {
  expect(
    knots(
      new Map([
        ["a", ["b"]],
        ["b", ["c"]],
        ["c", ["b"]],
      ]),
    ).map((knot) => knot.sort()),
  ).toEqual([["b", "c"]]);
  expect(
    knots(
      new Map([
        ["a", ["b", "c"]],
        ["b", ["c"]],
        ["c", []],
      ]),
    ),
  ).toEqual([]);
});
