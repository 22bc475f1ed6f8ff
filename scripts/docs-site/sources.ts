import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";

/** The source of a page. */
export interface Source {
  /** The path in the repository: docs/links.md. */
  readonly path: string;
  /** The path in the site: links.html. */
  readonly address: string;
  readonly text: string;
}

/** Pages outside of docs/ that belong to the site. */
const outside = ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md"];

export const indexPath = "docs/README.md";

/** Returns the pages of the site, sorted by path. */
export async function readSources(root: string): Promise<readonly Source[]> {
  const inDocs = (await readdir(join(root, "docs"), { recursive: true })).filter((name) => name.endsWith(".md"));
  const paths = [...outside, ...inDocs.map((name) => join("docs", name))].sort();
  return Promise.all(paths.map(async (path) => ({ path, address: addressOf(path), text: await readFile(join(root, path), "utf8") })));
}

function addressOf(path: string): string {
  if (path === indexPath) return "index.html";
  const name = path.startsWith("docs/") ? relative("docs", path) : path.toLowerCase().replace("/readme.md", ".md");
  return name.replace(/\.md$/, ".html");
}
