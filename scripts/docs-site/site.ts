import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pageHtml, type SitePage } from "./layout.ts";
import { indexProblems, navigation } from "./navigation.ts";
import { renderPage } from "./render.ts";
import { readSources } from "./sources.ts";

/** The maximum of searchable text of a section. Reference pages repeat themselves, so that their beginnings are sufficient. */
const maxSearchText = 2_000;

/** Returns the files of the site by their names, without its script and pictures. Throws for an index that does not fit and for dead links. */
export async function siteFiles(root: string): Promise<ReadonlyMap<string, string>> {
  const sources = await readSources(root);
  const problems = indexProblems(sources);
  if (problems.length > 0) throw new Error(problems.join("\n"));
  const pages: readonly SitePage[] = sources.map((source) => ({ source, ...renderPage(source, sources, root) }));
  const groups = navigation(sources);
  const files = new Map(pages.map((page) => [page.source.address, pageHtml(page, pages, groups)]));
  files.set("search.json", JSON.stringify(pages.flatMap(searchRows)));
  files.set("docs.css", await readFile(join(root, "scripts/docs-site/docs.css"), "utf8"));
  files.set("icon.svg", await readFile(join(root, "src/web/icon.svg"), "utf8"));
  return files;
}

function searchRows({ source, title, sections }: SitePage): readonly object[] {
  return sections.map(({ anchor, heading, text }) => ({
    address: `${source.address}#${anchor}`,
    page: title,
    heading,
    text: text.slice(0, maxSearchText),
  }));
}
