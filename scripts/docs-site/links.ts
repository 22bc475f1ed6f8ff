import { existsSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import type { Source } from "./sources.ts";

/** Files that are not pages of the site are linked in the repository. */
const repository = "https://github.com/labwright/labwright/blob/main/";

/**
 * Returns where a link of a page leads within the site: to a page, to a picture, to the repository for any other file, or to another host by https.
 * Throws if the target does not exist, or if the link has any other scheme.
 */
export function siteLink(href: string, from: Source, sources: readonly Source[], root: string): string {
  if (/^[a-z][a-z0-9+.-]*:|^\/\//i.test(href)) {
    if (href.startsWith("https://")) return href;
    throw new Error(`${from.path}: the link ${href} is neither https nor a file of the project`);
  }
  const [, file = "", anchor = ""] = /^([^#]*)(#.*)?$/.exec(href) ?? [];
  if (file === "") return anchor;
  const path = normalize(join(dirname(from.path), file));
  const page = sources.find((source) => source.path === path);
  const steps = dirname(from.address);
  if (page !== undefined) return `${relative(steps, page.address)}${anchor}`;
  if (path.startsWith("..") || !existsSync(join(root, path))) throw new Error(`${from.path}: the link ${href} leads to no file`);
  if (path.startsWith("docs/img/")) return relative(steps, relative("docs", path));
  return `${repository}${path}${anchor}`;
}
