import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { Marked, type Tokens } from "marked";
import { siteLink } from "./links.ts";
import { slugger } from "./slug.ts";
import type { Source } from "./sources.ts";

export interface Heading {
  readonly depth: number;
  readonly text: string;
  readonly anchor: string;
}

/** A section of a page for the search. */
export interface Section {
  readonly anchor: string;
  readonly heading: string;
  readonly text: string;
}

export interface Rendered {
  readonly title: string;
  readonly html: string;
  readonly headings: readonly Heading[];
  readonly sections: readonly Section[];
}

/** Pictures for light and dark backgrounds use the HTML that GitHub supports. Pages must not contain other HTML. */
const pictures =
  /^<picture><source media="\(prefers-color-scheme: dark\)" srcset="[^"<>]+"><img alt="([^"<>]*)" src="([^"<>]+)"><\/picture>$/gm;
const comment = /^\s*<!--[\s\S]*?-->\s*$/;

/** Renders one page. Throws for other HTML and for dead links. */
export function renderPage(source: Source, sources: readonly Source[], root: string): Rendered {
  const headings: Heading[] = [];
  const slug = slugger();
  const linkTo = (href: string) => escapeHtml(siteLink(href, source, sources, root));
  const marked = new Marked({
    gfm: true,
    renderer: {
      heading({ tokens, depth }) {
        const text = plainText(this.parser.parseInline(tokens, this.parser.textRenderer));
        const anchor = slug(text);
        headings.push({ depth, text, anchor });
        return `<h${depth} id="${anchor}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        // Such as the user and host in the address of a database, which is no address of mail.
        if (href.startsWith("mailto:")) return this.parser.parseInline(tokens);
        return `<a href="${linkTo(href)}">${this.parser.parseInline(tokens)}</a>`;
      },
      image({ href, text }) {
        const image = `<img alt="${escapeHtml(text)}" src="${linkTo(href)}">`;
        const dark = href.replace(/\.png$/, "-dark.png");
        if (!existsSync(join(root, dirname(source.path), dark))) return image;
        return `<picture><source media="(prefers-color-scheme: dark)" srcset="${linkTo(dark)}">${image}</picture>`;
      },
      html({ text }) {
        if (comment.test(text)) return "";
        throw new Error(`${source.path}: HTML: ${text.trim()}`);
      },
      code({ text }) {
        return `<pre tabindex="0"><code>${escapeHtml(text)}</code></pre>\n`;
      },
      table(token) {
        return `<div class="table" tabindex="0">${tableHtml(token, (tokens) => this.parser.parseInline(tokens))}</div>\n`;
      },
    },
  });
  const html = marked.parse(source.text.replaceAll(pictures, "![$1]($2)"), { async: false });
  return { title: headings[0]?.text ?? source.path, html, headings, sections: sectionsOf(html, headings) };
}

function tableHtml({ header, rows }: Tokens.Table, inline: (tokens: Tokens.TableCell["tokens"]) => string): string {
  const row = (cells: readonly Tokens.TableCell[], tag: "td" | "th") => {
    // Screen readers would read a heading without text.
    const tags = cells.map(({ text, tokens }) => (text === "" ? "<td></td>" : `<${tag}>${inline(tokens)}</${tag}>`));
    return `<tr>${tags.join("")}</tr>`;
  };
  const named = header.some(({ text }) => text !== "");
  return `<table>${named ? `<thead>${row(header, "th")}</thead>` : ""}<tbody>${rows.map((cells) => row(cells, "td")).join("")}</tbody></table>`;
}

function sectionsOf(html: string, headings: readonly Heading[]): readonly Section[] {
  const parts = html.split(/<h[1-6] id="[^"]*">.*<\/h[1-6]>/).slice(1);
  return headings.map(({ anchor, text }, at) => ({ anchor, heading: text, text: plainText(parts[at] ?? "") }));
}

/** Returns the text of rendered HTML. */
function plainText(html: string): string {
  const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', "#39": "'", amp: "&" };
  return html
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/&(lt|gt|quot|#39|amp);/g, (_match, name: string) => entities[name]!)
    .replaceAll(/\s+/g, " ")
    .trim();
}

export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
