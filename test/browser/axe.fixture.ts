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

/**
 * Returns the accessibility problems that axe finds in a page, one per element, by the rules of WCAG 2.2 A and AA and best practices.
 * @param rules checks only these rules
 */
export async function violationsOf(page: Page, rules?: readonly string[]): Promise<readonly string[]> {
  // Waits for running transitions: their intermediate colours may have too little contrast.
  await page.evaluate("Promise.all(document.getAnimations().map((one) => one.finished.catch(() => {})))");
  if ((await page.evaluate("typeof axe")) === "undefined") await page.evaluate(source);
  const options = { resultTypes: ["violations"], ...(rules !== undefined && { runOnly: rules }) };
  const { violations } = (await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`)) as AxeResults;
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${help}\n  ${html}\n  ${failureSummary}`),
  );
}
