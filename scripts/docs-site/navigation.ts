import { dirname, join, normalize } from "node:path";
import { indexPath, type Source } from "./sources.ts";

/** A group of pages in the navigation: a section of the index, with the pages it links to. */
export interface Group {
  readonly title: string;
  readonly paths: readonly string[];
}

/**
 * Returns the navigation, which is the index: its second-level headings and the pages that the lists below them link to. A link to a heading of a page
 * is no entry of its own.
 */
export function navigation(sources: readonly Source[]): readonly Group[] {
  const index = sources.find(({ path }) => path === indexPath);
  if (index === undefined) throw new Error(`${indexPath} is missing: it is the index of the pages`);
  const groups = index.text.split(/^## /m).slice(1);
  return groups.map((group) => ({
    title: group.slice(0, group.indexOf("\n")).trim(),
    paths: [...group.matchAll(/\]\(([^)#\s]+\.md)\)/g)].map(([, href = ""]) => normalize(join(dirname(indexPath), href))),
  }));
}

/** Returns what is wrong with the index: pages that no group has, that are listed twice, or that do not exist. */
export function indexProblems(sources: readonly Source[]): readonly string[] {
  const listed = navigation(sources).flatMap(({ paths }) => paths);
  const known = sources.map(({ path }) => path).filter((path) => path !== indexPath);
  return [
    ...known.filter((path) => !listed.includes(path)).map((path) => `${indexPath} does not list ${path}`),
    ...listed.filter((path, at) => listed.indexOf(path) !== at).map((path) => `${indexPath} lists ${path} twice`),
    ...listed.filter((path) => !known.includes(path)).map((path) => `${indexPath} lists ${path}, which is not a page`),
  ];
}
