import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { drawingOf } from "../src/exporters/drawing/drawing.ts";
import { readIntent } from "../src/intent/read/read.ts";
import type { ExampleLab } from "../src/web/gallery/example-lab.ts";

/** Reads the example labs with their files, and the drawing of each. */
export function exampleLabs(folder: string): readonly ExampleLab[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(".yaml"))
    .sort()
    .map((file) => exampleLab(folder, file));
}

function exampleLab(folder: string, file: string): ExampleLab {
  const yaml = readFileSync(join(folder, file), "utf8");
  const files = filesOf(folder, file.replace(/\.yaml$/, ""));
  const { lab, diagnostics } = readIntent(yaml, files);
  if (lab === undefined) throw new Error(`${file}: ${diagnostics.map(({ message }) => message).join("; ")}`);
  const { members, links } = drawingOf(lab);
  return {
    name: lab.name,
    description: lab.description ?? "",
    yaml,
    files,
    templates: [...new Set(lab.nodes.map(({ template }) => template))].sort(),
    places: members.map(({ key, place }) => [key, Math.round(place.x), Math.round(place.y)]),
    links: links.map(({ from, to }) => [from, to]),
  };
}

function filesOf(folder: string, name: string): Record<string, string> {
  const within = join(folder, name);
  let entries: string[];
  try {
    entries = readdirSync(within, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw error;
  }
  return Object.fromEntries(entries.sort().map((path) => [relative(folder, path), readFileSync(path, "utf8")]));
}
