/**
 * The rooms of each layer that has several, the lowest first: a room is a folder, and imports – types too – only rooms that its row names, all of which
 * are above its row. Files directly in the layer's folder build on its rooms: they may import each of them, and no room imports them.
 * ARCHITECTURE.md says what is in each room.
 */
export const rooms: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  intent: {
    lab: [],
    diagnostics: [],
    parse: ["diagnostics"],
    read: ["lab", "diagnostics", "parse"],
    places: ["lab", "diagnostics", "parse", "read"],
    write: ["lab"],
    edit: ["lab", "diagnostics", "parse", "read", "write"],
  },
  engine: {
    shared: [],
    model: [],
    compare: ["shared", "model"],
    effects: ["model", "compare"],
    show: ["shared", "model", "compare"],
    plan: ["shared", "model", "compare", "effects", "show"],
  },
  service: {
    store: [],
    common: [],
    streams: ["common"],
    sessions: ["store", "common"],
    work: ["store", "common"],
    jobs: ["store", "common"],
    observe: ["common", "streams"],
    events: ["store", "common", "sessions", "work", "observe"],
    context: ["store", "common", "streams", "sessions", "work", "jobs", "observe", "events"],
    changes: ["store", "common", "streams", "sessions", "work", "jobs", "context"],
    checks: ["common", "work", "context"],
    projects: ["store", "common", "sessions", "work", "jobs", "context", "changes", "checks"],
    consoles: ["common", "sessions", "context"],
    power: ["store", "common", "work", "jobs", "context", "changes", "consoles"],
    labs: ["store", "common", "sessions", "work", "jobs", "observe", "context", "changes", "power"],
    links: ["common", "jobs", "context", "changes"],
    captures: ["store", "common", "streams", "sessions", "context", "labs"],
    traffic: ["common", "streams", "sessions", "context"],
    metrics: ["common", "observe", "events", "context"],
  },
  server: {
    process: [],
    streams: [],
    http: ["streams"],
    tls: ["http"],
  },
  cli: {
    show: [],
    command: ["show"],
    service: ["command"],
    "project-files": ["command"],
    parts: ["show", "command"],
    streams: ["show", "command"],
    commands: ["show", "command", "service", "project-files", "parts", "streams"],
  },
  "hosts/local": {
    machine: [],
    sync: [],
    files: ["machine"],
    images: ["machine"],
    holder: [],
    sandbox: ["machine", "holder"],
    templates: ["files", "images"],
    definitions: ["machine", "files", "templates"],
    links: ["machine", "sync", "sandbox", "templates", "definitions"],
    quality: ["machine", "files", "sandbox", "definitions"],
    nat: ["machine", "sandbox", "links"],
    resources: ["sandbox", "templates", "definitions"],
    vm: ["machine", "files", "images", "sandbox", "templates"],
    nodes: ["files", "images", "sandbox", "templates", "definitions", "links", "vm"],
    lab: [
      "machine",
      "sync",
      "files",
      "images",
      "sandbox",
      "templates",
      "definitions",
      "links",
      "quality",
      "nat",
      "resources",
      "vm",
      "nodes",
    ],
    watches: ["sandbox", "templates", "definitions", "lab"],
    capture: ["machine", "sync", "files", "images", "sandbox", "definitions"],
    decoder: ["machine", "sync", "files", "capture"],
    accounts: ["machine", "files", "definitions"],
    session: [
      "machine",
      "files",
      "holder",
      "sandbox",
      "templates",
      "definitions",
      "links",
      "quality",
      "resources",
      "nodes",
      "lab",
      "watches",
      "capture",
      "decoder",
      "accounts",
    ],
    "containers/archive": [],
    containers: ["machine", "files", "images", "containers/archive"],
    "setup/programs": [],
    "setup/images": ["files", "images", "setup/programs"],
    setup: ["machine", "setup/programs", "setup/images"],
  },
  "hosts/eve": {
    api: [],
    "lab-file": [],
    pnetlab: ["api"],
    account: ["api", "pnetlab"],
    templates: ["api", "lab-file", "account"],
    read: ["api", "lab-file", "account", "templates"],
    labs: ["api", "account", "templates", "read"],
    power: ["api", "lab-file", "account", "templates", "read", "labs"],
    write: ["api", "lab-file", "account", "templates", "read", "labs"],
    changes: ["api", "lab-file", "templates", "read", "labs", "power", "write"],
  },
};

/** Source and test files directly in a folder. */
export const maxFiles = 15;

/** Folders with more: lists of one kind, where the next file is like the ones before. */
export const lists: Readonly<Record<string, string>> = {
  "cli/commands": "one file a command",
  "contract/schemas": "one file a subject of the API",
};

/** Folders that want rooms: how many files they have today. A number only becomes smaller; at 15 its row goes. */
export const crowded: Readonly<Record<string, number>> = {
  console: 31,
  "web/captures": 23,
  "web/parts": 27,
  "web/topology": 29,
  "web/traffic": 16,
};

/** Files that import each other in a circle, types included, and do not lie in one folder: each with its reason. */
export const circles: Readonly<Record<string, string>> = {
  "contract/operations.ts contract/schemas/table.ts": "the table of operations names the types of its schemas, which name its operations",
};

/** Programs, and modules that no other module imports: what runs them. Anything else that only tests import is test code, and is named as such. */
export const entries: Readonly<Record<string, string>> = {
  "cli/main.ts": "the command labwright",
  "server/main.ts": "the service",
  "client/index.ts": "the SDK",
  "client/browser.ts": "the SDK in browsers",
  "web/main.tsx": "the pages",
  "web/css.d.ts": "types of imported style sheets",
  "web/consoles/sheet-element.ts": "vite.config.ts puts it into the terminal",
  "web/docs/docs.ts": "scripts/docs.ts bundles it for the pages of the documentation",
  "service/work/worker.ts": "a thread of service/work/pool.ts",
  "console/expression-worker.ts": "a thread of console/expressions.ts",
  "hosts/local/setup/main.ts": "labwright setup",
  "hosts/local/containers/main.ts": "labwright image",
  "hosts/local/accounts/main.ts": "labwright users",
  "hosts/conformance.ts": "the suite that each driver's tests run; tsconfig.json leaves it out of the product",
  "intent/schema.ts": "scripts/generate.ts writes schema/lab.schema.json with it",
};
