import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly help: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
}

const source = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe finds wrong with a page as it is now, one line each: rule, what it wants, where. Rules of WCAG 2.2 A and AA, and good practice. */
export async function violationsOf(page: Page): Promise<readonly string[]> {
  // Colours that are on their way from one to the other are neither.
  await page.evaluate("Promise.all(document.getAnimations().map((one) => one.finished.catch(() => {})))");
  if ((await page.evaluate("typeof axe")) === "undefined") await page.evaluate(source);
  const { violations } = (await page.evaluate("axe.run(document, { resultTypes: ['violations'] })")) as AxeResults;
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${help}\n  ${html}\n  ${failureSummary}`),
  );
}
