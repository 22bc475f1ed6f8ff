/** Bundles the programs of the package into dist/bundle: a few files load in a third of the time of hundreds of modules. */
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { build, type Plugin } from "vite";
import { prepareTemplates } from "../src/hosts/local/templates/reading/templates.ts";
import { buildOnce } from "./build-once.ts";

const root = join(import.meta.dirname, "..");

/** Programs, and the threads that they start, by their path in src and in dist/bundle. */
const programs = [
  "cli/main",
  "server/main",
  "server/copy-store",
  "service/work/worker",
  "console/dialogue/expression-worker",
  "hosts/local/setup/main",
  "hosts/local/containers/main",
  "hosts/local/registries/main",
  "server/users",
  "hosts/local/own-kernel/doctor",
];

/**
 * An import of these modules reads each of their exports. Some of those are getters that load Node's fetch, or parse all root certificates: a tenth of the start of
 * the service. The bundle takes the modules without their getters.
 */
const withGetters = ["node:http", "node:tls"];
const prefix = "\0without-getters:";
const withoutGetters: Plugin = {
  name: "without-getters",
  enforce: "pre",
  resolveId: (name) => (withGetters.includes(name) ? prefix + name : undefined),
  load(id) {
    if (!id.startsWith(prefix)) return undefined;
    const name = id.slice(prefix.length);
    const properties = Object.entries(Object.getOwnPropertyDescriptors(process.getBuiltinModule(name)));
    const names = properties.filter(([, property]) => "value" in property).map(([key]) => key);
    return `export const { ${names.join(", ")} } = process.getBuiltinModule(${JSON.stringify(name)});\n`;
  },
};

/** Puts the templates, read already, into their module. */
const withTemplates: Plugin = {
  name: "with-templates",
  enforce: "pre",
  async load(id) {
    if (!id.endsWith("/src/hosts/local/templates/reading/prepared.ts")) return undefined;
    const templates = JSON.stringify(await prepareTemplates());
    // Text is parsed faster than an expression.
    return `export const prepared = JSON.parse(${JSON.stringify(templates)});\n`;
  },
};

await buildOnce({
  what: "programs",
  target: "dist/bundle",
  sources: [
    "scripts/bundle.ts",
    "templates/**/*.y*ml",
    "src/{base,cli,client,console,contract,engine,exporters,files,formats,hosts,importers,intent,layout,packets,server,service,transport}/**/*.ts",
  ],
  build: bundle,
});

async function bundle(): Promise<void> {
  await build({
    configFile: false,
    root,
    logLevel: "warn",
    publicDir: false,
    plugins: [withoutGetters, withTemplates],
    ssr: { noExternal: true, target: "node" },
    build: {
      ssr: true,
      outDir: "dist/bundle",
      emptyOutDir: true,
      target: "node24",
      minify: false,
      license: { fileName: "licenses.md" },
      rolldownOptions: {
        input: Object.fromEntries(programs.map((name) => [name, join(root, `src/${name}.ts`)])),
        output: { entryFileNames: "[name].js", chunkFileNames: "chunks/[name]-[hash].js" },
      },
    },
  });
  await chmod(join(root, "dist/bundle/cli/main.js"), 0o755);
}
