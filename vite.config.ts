import { readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig, type Plugin } from "vite";
import { exampleLabs } from "./scripts/example-labs.ts";

/**
 * The terminal writes <style> elements and style attributes, both of which the pages' strict policy refuses, and its option for another document
 * reaches only some of them. Here they become constructed style sheets and style properties. A version that is written otherwise fails the build.
 */
const terminalUnderPolicy: Plugin = {
  name: "terminal-under-policy",
  transform(code, id) {
    if (!/\/@xterm\/xterm\/lib\/xterm\.mjs$/.test(id)) return undefined;
    const replaced = (text: string, what: RegExp, by: string, times: number) => {
      const found = text.match(what)?.length ?? 0;
      if (found !== times) throw new Error(`xterm.mjs has ${what} ${found} times, not ${times}: see how it makes styles now`);
      return text.replace(what, by);
    };
    const elements = replaced(code, /[\w.]+\.createElement\("style"\)/g, "labwrightSheetElement()", 3);
    const attribute = /\b(\w+)\.setAttribute\("style",`\$\{\1\.getAttribute\("style"\)\|\|""\}\$\{(\w+)\};`\)/g;
    const styled = replaced(elements, attribute, "$1.style.cssText+=`;$${$2};`", 1);
    const shim = join(import.meta.dirname, "src/web/consoles/terminal/sheet-element.ts");
    return { code: `import { sheetElement as labwrightSheetElement } from ${JSON.stringify(shim)};\n${styled}`, map: null };
  },
};

/** The JSON Schema of labs, for the editor: beside the pages, fetched when somebody wants a word completed. */
const labSchema: Plugin = {
  name: "lab-schema",
  generateBundle() {
    const text = readFileSync(join(import.meta.dirname, "schema/lab.schema.json"), "utf8");
    this.emitFile({ type: "asset", fileName: "lab.schema.json", source: JSON.stringify(JSON.parse(text)) });
  },
};

/** The example labs, fetched by the page of a new lab. */
const examples: Plugin = {
  name: "example-labs",
  generateBundle() {
    this.emitFile({ type: "asset", fileName: "examples.json", source: JSON.stringify(exampleLabs(join(import.meta.dirname, "labs"))) });
  },
};

/** The summaries of operations are for the OpenAPI document; the pages need none of them, and load faster without. */
const withoutSummaries: Plugin = {
  name: "without-summaries",
  enforce: "pre",
  transform(code, id) {
    if (!id.endsWith("/src/contract/operations.ts")) return undefined;
    const shorter = code.replaceAll(/^ {4}summary:\s*"(?:[^"\\]|\\.)*",$/gm, "");
    if (/^ {4}summary:/m.test(shorter)) throw new Error("operations.ts has summaries that are no plain texts: see how it writes them now");
    return { code: shorter, map: null };
  },
};

/** The web pages: src/web to dist/web, with names that change with their content. */
export default defineConfig({
  root: "src/web",
  base: "/ui/",
  plugins: [withoutSummaries, terminalUnderPolicy, labSchema, examples],
  // Fonts and pictures within the page would need a looser policy.
  build: { outDir: "../../dist/web", emptyOutDir: true, assetsInlineLimit: 0, modulePreload: { polyfill: false }, target: "es2023" },
});
