import { dirname, relative } from "node:path";
import type { Group } from "./navigation.ts";
import { escapeHtml, type Rendered } from "./render.ts";
import type { Source } from "./sources.ts";

export interface SitePage extends Rendered {
  readonly source: Source;
}

/** Pages with more headings have no table of contents: the search finds the headings. */
const maxContents = 40;

/** Returns the whole HTML of a page. It has no inline script and no inline style, because the service's policy refuses both. */
export function pageHtml(page: SitePage, pages: readonly SitePage[], groups: readonly Group[]): string {
  const to = (address: string) => relative(dirname(page.source.address), address);
  const home = to("index.html");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(page.title)} – Labwright</title>
<link rel="icon" href="${to("icon.svg")}">
<link rel="stylesheet" href="${to("docs.css")}">
<script type="module" src="${to("docs.js")}"></script>
</head>
<body>
<header>
<a class="brand" href="${home}">Labwright documentation</a>
<form role="search" action="${home}"><label>Search <input type="search" autocomplete="off"></label></form>
<a href="/ui/">Labs</a>
</header>
<div id="found" role="region" aria-label="Search results" aria-live="polite" hidden></div>
<div class="columns">
<nav aria-label="Documentation">
${groups.map((group) => groupHtml(group, page, pages, to)).join("\n")}
</nav>
<main>
${page.html}</main>
</div>
</body>
</html>
`;
}

function groupHtml({ title, paths }: Group, page: SitePage, pages: readonly SitePage[], to: (address: string) => string): string {
  const items = paths.flatMap((path) => {
    const target = pages.find(({ source }) => source.path === path);
    if (target === undefined) return [];
    const isHere = target === page;
    const link = `<a href="${to(target.source.address)}"${isHere ? ' aria-current="page"' : ""}>${escapeHtml(target.title)}</a>`;
    return [`<li>${link}${isHere ? contentsHtml(page) : ""}</li>`];
  });
  return `<h2>${escapeHtml(title)}</h2>\n<ul>\n${items.join("\n")}\n</ul>`;
}

function contentsHtml({ headings }: Rendered): string {
  const sections = headings.filter(({ depth }) => depth === 2);
  if (sections.length < 2 || sections.length > maxContents) return "";
  return `<ul>${sections.map(({ anchor, text }) => `<li><a href="#${anchor}">${escapeHtml(text)}</a></li>`).join("")}</ul>`;
}
