import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, normalize } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { siteLink } from "../scripts/docs-site/links.ts";
import { indexProblems } from "../scripts/docs-site/navigation.ts";
import { renderPage } from "../scripts/docs-site/render.ts";
import { siteFiles } from "../scripts/docs-site/site.ts";
import { slugger } from "../scripts/docs-site/slug.ts";
import { readSources, type Source } from "../scripts/docs-site/sources.ts";
import { root } from "./docs-blocks.ts";

/** The documentation as the service shows it below /docs. */

let files: ReadonlyMap<string, string>;
let sources: readonly Source[];

beforeAll(async () => {
  [files, sources] = await Promise.all([siteFiles(root), readSources(root)]);
});

const html = () => [...files].filter(([name]) => name.endsWith(".html"));
const anchors = (text: string) => new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));

test("each page is in the index once", () => {
  expect(indexProblems(sources)).toEqual([]);
});

test("a page that the index does not list is named", () => {
  const more = [...sources, { path: "docs/left-out.md", address: "left-out.html", text: "# Left out" }];
  expect(indexProblems(more)).toEqual(["docs/README.md does not list docs/left-out.md"]);
});

test("each internal link leads to a page, a heading or a picture that is there", () => {
  const links = html().flatMap(([from, text]) =>
    [...text.matchAll(/ (?:href|src|srcset)="([^"]+)"/g)].map(([, target = ""]) => ({ from, target })),
  );
  const inside = links.filter(({ target }) => !target.startsWith("https://") && target !== "/ui/");
  expect(inside.length).toBeGreaterThan(500);
  const dead = inside.filter(({ from, target }) => {
    const [file = "", anchor] = target.split("#");
    const path = file === "" ? from : normalize(join(dirname(from), file));
    if (path === "docs.js") return false;
    if (path.startsWith("img/")) return !existsSync(join(root, "docs", path));
    const page = files.get(path);
    return page === undefined || (anchor !== undefined && !anchors(page).has(anchor));
  });
  expect(dead).toEqual([]);
});

test("each result of the search leads to a heading that is there", () => {
  const rows = JSON.parse(files.get("search.json") ?? "[]") as readonly { readonly address: string }[];
  expect(rows.length).toBeGreaterThan(100);
  const dead = rows.filter(({ address }) => {
    const [file = "", anchor = ""] = address.split("#");
    return !anchors(files.get(file) ?? "").has(anchor);
  });
  expect(dead).toEqual([]);
});

test("no page has an inline script, an inline style or a file of another host, which the policy refuses", () => {
  for (const [name, text] of html()) {
    expect([name, text.match(/<script(?![^>]* src=)|<style| style=| on\w+=|(?:src|srcset)="(?:https?:|\/\/)/)]).toEqual([name, null]);
    expect([name, anchors(text).size]).toEqual([name, [...text.matchAll(/ id="/g)].length]);
  }
});

describe("a page that is wrong does not build:", () => {
  const source = (text: string): Source => ({ path: "docs/wrong.md", address: "wrong.html", text });
  test.each([
    ["HTML", "# Wrong\n\n<script>alert(1)</script>\n"],
    ["HTML in a line", "# Wrong\n\nA <b>word</b>.\n"],
    ["a link to no file", "# Wrong\n\n[gone](gone.md)\n"],
    ["a link with another scheme", "# Wrong\n\n[run](javascript:alert)\n"],
    ["a link without encryption", "# Wrong\n\n[site](http://example.net)\n"],
    ["a link out of the project", "# Wrong\n\n[up](../../../etc/passwd)\n"],
  ])("%s", (_what, text) => {
    expect(() => renderPage(source(text), sources, root)).toThrow(/^docs\/wrong\.md: /);
  });

  test("code and text of a page are escaped", () => {
    const { html: rendered } = renderPage(source("# A & B\n\n`<b>` and \\<i>\n\n```\n<script>\n```\n"), sources, root);
    expect(rendered).toContain("<code>&lt;b&gt;</code> and &lt;i&gt;");
    expect(rendered).toContain('<pre tabindex="0"><code>&lt;script&gt;</code></pre>');
  });
});

test("links to other files of the project lead to its repository", () => {
  const [from] = sources.filter(({ path }) => path === "docs/links.md");
  expect(siteLink("../labs/two-hosts.yaml", from!, sources, root)).toBe(
    "https://github.com/labwright/labwright/blob/main/labs/two-hosts.yaml",
  );
  expect(siteLink("hosts/eve.md#assumptions", from!, sources, root)).toBe("hosts/eve.html#assumptions");
});

test("anchors are those of GitHub", () => {
  const slug = slugger();
  expect(["Suspend / resume a link", "What `add` checks?", "Limits", "Limits", "docs_2 – x"].map(slug)).toEqual([
    "suspend--resume-a-link",
    "what-add-checks",
    "limits",
    "limits-1",
    "docs_2--x",
  ]);
});

test("a tree without an index fails with the name of the file", async () => {
  const empty = await mkdtemp(join(tmpdir(), "labwright-docs-site-"));
  try {
    await expect(siteFiles(empty)).rejects.toThrow();
  } finally {
    await rm(empty, { recursive: true });
  }
});
