import { defineConfig } from "vite";

/** The web pages: src/web to dist/web, with names that change with their content. */
export default defineConfig({
  root: "src/web",
  base: "/ui/",
  // Fonts and pictures within the page would need a looser policy.
  build: { outDir: "../../dist/web", emptyOutDir: true, assetsInlineLimit: 0, modulePreload: { polyfill: false }, target: "es2023" },
});
