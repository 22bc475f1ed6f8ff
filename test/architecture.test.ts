import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { describe, expect, test } from "vitest";
import { type Import, imports, isTestCode, root, sources } from "./architecture/imports.ts";

type LayerName =
  | "base"
  | "layout"
  | "contract core"
  | "contract errors"
  | "contract schemas"
  | "intent"
  | "exporters"
  | "formats"
  | "importers"
  | "engine"
  | "transport"
  | "files"
  | "console"
  | "packets"
  | "host interface"
  | "local host"
  | "spread host"
  | "eve host"
  | "service"
  | "server"
  | "server main"
  | "client"
  | "cli"
  | "web";

interface Layer {
  readonly files: RegExp;
  /** Layers it may import, apart from itself. */
  readonly layers: readonly LayerName[];
  /** Layers of which it may import types only. */
  readonly types?: readonly LayerName[];
  readonly packages: readonly string[];
  /** Node's own modules: none, all, or all but these. */
  readonly node: "none" | "all" | { readonly except: readonly string[] };
  readonly why: string;
}

const network = ["node:http", "node:https", "node:http2", "node:net", "node:tls", "node:dgram"];

/** Who may import whom. A file belongs to the first row that matches. ARCHITECTURE.md shows the same table. */
const layers: Readonly<Record<LayerName, Layer>> = {
  base: {
    files: /^base\//,
    layers: [],
    packages: [],
    node: "none",
    why: "queues, orders and differences that every layer may need, without any I/O",
  },
  layout: {
    files: /^layout\//,
    layers: [],
    packages: [],
    node: "none",
    why: "computed positions of nodes, the same for the pages and for drawings as files",
  },
  "contract errors": {
    files: /^contract\/errors\.ts$/,
    layers: [],
    types: ["contract schemas"],
    packages: [],
    node: "none",
    why: "the one error that crosses layers must weigh nothing",
  },
  "contract core": {
    files: /^contract\/[^/]*(?<!openapi)\.ts$/,
    layers: ["contract errors"],
    types: ["contract schemas"],
    packages: [],
    node: "none",
    why: "shared with the SDK and with browsers, which get no packages",
  },
  "contract schemas": {
    files: /^contract\//,
    layers: ["contract errors", "contract core"],
    packages: ["typebox"],
    node: "none",
    why: "one source for routes, types and OpenAPI",
  },
  intent: {
    files: /^intent\//,
    layers: ["base", "contract errors"],
    packages: ["yaml"],
    node: "none",
    why: "text in, diagnostics out; also runs in the CLI and in an editor",
  },
  exporters: {
    files: /^exporters\//,
    layers: ["base", "layout", "intent"],
    packages: [],
    node: "none",
    why: "a lab in the languages of other tools and as a drawing: text out, no I/O",
  },
  formats: {
    files: /^formats\//,
    layers: [],
    packages: ["@xmldom/xmldom"],
    node: "none",
    why: "notations of other tools, which a driver and the importers both read; the package parses XML",
  },
  importers: {
    files: /^importers\//,
    layers: ["base", "contract errors", "intent", "formats"],
    packages: [],
    node: "none",
    why: "lab files of other tools in, the text of a lab and a report out: the same files give the same lab, in the CLI and the service",
  },
  engine: {
    files: /^engine\//,
    layers: ["base", "intent"],
    packages: [],
    node: "none",
    why: "same input, same plan: no I/O, clock or randomness",
  },
  transport: {
    files: /^transport\//,
    layers: ["contract errors"],
    packages: [],
    node: "all",
    why: "pinned HTTPS, for the SDK and for drivers of REST hosts",
  },
  files: {
    files: /^files\//,
    layers: [],
    packages: ["tar-stream"],
    node: { except: [...network, "node:child_process"] },
    why: "directories and tar archives as service, embedded host and CLI all handle them, and the places of the package's own files",
  },
  console: {
    files: /^console\//,
    layers: ["base", "contract errors", "files"],
    types: ["host interface"],
    packages: [],
    node: { except: network },
    why: "bytes and prompts; where they come from is the driver's",
  },
  packets: {
    files: /^packets\//,
    layers: [],
    packages: [],
    node: "none",
    why: "bytes of captured packets; what they come from and who looks is others' part",
  },
  "host interface": {
    files: /^hosts\/(host(-[a-z]+)?(\.test)?\.ts|conformance\b.*|(memory|none)\/.*)$/,
    layers: ["base", "contract errors", "intent", "engine"],
    types: ["packets"],
    packages: ["vitest"],
    node: { except: [...network, "node:child_process"] },
    why: "the driver interface, the suite that every driver passes, and the reference driver; vitest is for the suite",
  },
  "local host": {
    files: /^hosts\/local\//,
    layers: ["base", "contract errors", "intent", "engine", "console", "packets", "files", "host interface"],
    packages: ["yaml"],
    node: "all",
    why: "all privilege lives here; drivers never see each other",
  },
  "spread host": {
    files: /^hosts\/spread\//,
    layers: ["base", "contract errors", "intent", "engine", "files", "host interface"],
    packages: [],
    node: { except: [...network, "node:child_process"] },
    why: "joins the parts of a lab on several machines; it changes nothing on a machine itself, and is given the calls to the others",
  },
  "eve host": {
    files: /^hosts\/eve\//,
    layers: ["base", "contract errors", "intent", "formats", "engine", "console", "transport", "files", "host interface"],
    packages: [],
    node: "all",
    why: "a REST host; formats has the notation of its lab files",
  },
  service: {
    files: /^service\//,
    layers: [
      "base",
      "contract errors",
      "contract core",
      "contract schemas",
      "intent",
      "engine",
      "console",
      "packets",
      "files",
      "importers",
      "host interface",
    ],
    packages: ["typebox", "pg", "pg-connection-string"],
    node: { except: network },
    why: "use cases: no HTTP, and no driver, so that each can be replaced",
  },
  "server main": {
    files: /^server\/(main|open-store|copy-store|shared-accounts|users)\.ts$/,
    layers: [
      "base",
      "contract errors",
      "contract core",
      "files",
      "service",
      "server",
      "host interface",
      "local host",
      "spread host",
      "eve host",
    ],
    packages: [],
    node: "all",
    why: "the only place that names concrete drivers and databases",
  },
  server: {
    files: /^server\//,
    layers: ["base", "contract errors", "contract core", "contract schemas", "files", "transport"],
    types: ["service", "host interface"],
    packages: ["fastify", "openid-client", "typebox", "ws"],
    node: "all",
    why: "HTTPS only; what is answered comes from the service it is given; ws for browsers, which have no other upgrade; openid-client for sign-ins at a provider; fingerprints as people write them; hosts of a fleet are given calls to each other",
  },
  client: {
    files: /^client\//,
    layers: ["contract errors", "contract core", "transport"],
    types: ["contract schemas"],
    packages: [],
    node: "all",
    why: "the SDK has no dependencies",
  },
  cli: {
    files: /^cli\//,
    layers: ["base", "contract errors", "contract core", "client", "transport", "files", "intent", "exporters", "importers", "packets"],
    types: ["contract schemas"],
    packages: ["yaml"],
    node: "all",
    why: "everything goes through the SDK; intent is for offline validate, importers for files of other tools, packets for counting a capture's, yaml for inventories of other tools",
  },
  web: {
    files: /^web\//,
    layers: ["base", "layout", "contract errors", "contract core", "client", "intent"],
    types: ["contract schemas"],
    packages: ["preact", "yaml", "@codemirror", "@lezer", "@xterm"],
    node: "none",
    why: "pages run in a browser, on the SDK's browser build; what they import is what a person waits for",
  },
};

function packageOf(from: string): string {
  return from.split("/", from.startsWith("@") ? 2 : 1).join("/");
}

/** By name, or by scope where a layer uses a family of packages. */
const isNamed = (packages: readonly string[], owner: string) => packages.includes(owner) || packages.includes(owner.split("/")[0] ?? "");

function layerOf(file: string): LayerName | undefined {
  return (Object.keys(layers) as LayerName[]).find((name) => layers[name].files.test(file));
}

function problemOf({ file, from, typeOnly }: Import): string | undefined {
  const name = layerOf(file);
  if (name === undefined) return `${file} is in no layer`;
  const layer = layers[name];
  const refuse = (what: string) => `${file} imports ${from}: ${name} may not import ${what} (${layer.why})`;
  if (from.startsWith("node:")) {
    if (layer.node === "all") return undefined;
    if (layer.node === "none") return refuse("Node modules");
    return layer.node.except.some((module) => from === module || from.startsWith(`${module}/`)) ? refuse(from) : undefined;
  }
  if (!from.startsWith(".")) {
    const owner = packageOf(from);
    return isNamed(layer.packages, owner) ? undefined : refuse(`the package ${owner}`);
  }
  const target = normalize(join(dirname(file), from));
  if (target.startsWith("..")) return refuse("files outside src");
  if (isTestCode(target)) return refuse("test code");
  const other = layerOf(target);
  if (other === undefined) return `${file} imports ${target}, which is in no layer`;
  if (other === name || layer.layers.includes(other)) return undefined;
  if (layer.types?.includes(other)) return typeOnly ? undefined : refuse(`values of ${other}, only types`);
  return refuse(other);
}

describe("layers", () => {
  test("every source file is in a layer", () => {
    expect(sources.filter((file) => layerOf(file) === undefined)).toEqual([]);
  });

  test("imports are seen at all", () => {
    expect(imports).toContainEqual({ file: "server/start.ts", from: "fastify", typeOnly: false });
    expect(imports).toContainEqual({ file: "contract/operations.ts", from: "./schemas/table.ts", typeOnly: true });
  });

  test.each(Object.entries(layers))("%s imports only what its row names", (name) => {
    const problems = imports.filter(({ file }) => layerOf(file) === name).map(problemOf);
    expect(problems.filter((problem) => problem !== undefined)).toEqual([]);
  });

  test.each<[string, Import]>([
    ["a file system in the engine", { file: "engine/model/plan.ts", from: "node:fs", typeOnly: false }],
    ["a driver in the service", { file: "service/plans.ts", from: "../hosts/local/host.ts", typeOnly: false }],
    ["HTTP in the service", { file: "service/plans.ts", from: "node:http", typeOnly: true }],
    ["a package in the SDK", { file: "client/connect.ts", from: "fastify", typeOnly: false }],
    ["schema values in the SDK", { file: "client/connect.ts", from: "../contract/schemas/plan.ts", typeOnly: false }],
    ["the service in the CLI", { file: "cli/main.ts", from: "../service/service.ts", typeOnly: true }],
    ["test code in the product", { file: "engine/model/plan.ts", from: "./plan.test.ts", typeOnly: false }],
  ])("%s would be refused", (_name, each) => {
    expect(problemOf(each)).toMatch(/may not import/);
  });

  test("no two files import each other in a circle, types aside", () => {
    const values = new Map<string, string[]>();
    for (const { file, from, typeOnly } of imports) {
      if (!typeOnly && from.startsWith(".")) values.set(file, [...(values.get(file) ?? []), normalize(join(dirname(file), from))]);
    }
    expect(firstCircle(values)).toBeUndefined();
  });
});

function firstCircle(edges: ReadonlyMap<string, readonly string[]>): string | undefined {
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): string | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file].join(" → ");
    if (done.has(file)) return undefined;
    for (const next of edges.get(file) ?? []) {
      const circle = visit(next, [...path, file]);
      if (circle !== undefined) return circle;
    }
    done.add(file);
    return undefined;
  };
  for (const file of edges.keys()) {
    const circle = visit(file, []);
    if (circle !== undefined) return circle;
  }
  return undefined;
}

describe("packages", () => {
  test("the product's dependencies are those that src imports, no more and no fewer", async () => {
    const { dependencies } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { dependencies: Record<string, string> };
    // Modules that pages import are bundled into them.
    const installed = imports.filter(({ file }) => layerOf(file) !== "web");
    const used = installed.filter(({ from }) => !from.startsWith(".") && !from.startsWith("node:")).map(({ from }) => packageOf(from));
    expect(Object.keys(dependencies).sort()).toEqual([...new Set(used.filter((name) => name !== "vitest"))].sort());
  });

  test("no installed package needs an install script", async () => {
    const { packages } = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as {
      packages: Record<string, { hasInstallScript?: boolean }>;
    };
    const installed = Object.entries(packages).filter(([path, { hasInstallScript }]) => hasInstallScript && existsSync(join(root, path)));
    expect(installed.map(([path]) => path)).toEqual([]);
  });

  test("versions are exact", async () => {
    const { dependencies, devDependencies } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as Record<
      string,
      Record<string, string>
    >;
    const versions = Object.entries({ ...dependencies, ...devDependencies });
    expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
  });
});
