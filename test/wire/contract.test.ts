import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { answerStatus, type ErrorCode, errors } from "../../src/contract/errors.ts";
import { openApiDocument } from "../../src/contract/openapi.ts";
import { commonErrors, type OperationId, type OperationRow, operations } from "../../src/contract/operations.ts";
import { dataSchemas, requestSchemas } from "../../src/contract/schemas/table.ts";
import { featureNames } from "../../src/hosts/host.ts";

interface OperationObject {
  readonly operationId: string;
  readonly responses: Readonly<
    Record<string, { content?: Record<string, { schema: { allOf?: readonly { properties?: { code: { enum: readonly string[] } } }[] } }> }>
  >;
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required: boolean }[];
  readonly requestBody?: object;
  readonly security?: readonly object[];
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, { readonly properties?: { readonly code: { readonly enum: readonly string[] } } }>>;
  };
  readonly "x-errors": Readonly<Record<string, { readonly status: number }>>;
}

const root = join(import.meta.dirname, "../..");
const ids = Object.keys(operations) as OperationId[];
const rows = ids.map((id): [OperationId, OperationRow] => [id, operations[id]]);
const document = openApiDocument("1.0.0") as unknown as Document;
const published = JSON.parse(await readFile(join(root, "schema/openapi.json"), "utf8")) as Document;

describe("operations", () => {
  test("have a method and path of their own", () => {
    const all = rows.flatMap(([, { method, path, aliases = [] }]) => [path, ...aliases].map((each) => `${method} ${each}`));
    expect(new Set(all).size).toBe(all.length);
  });

  test("have a request and a data schema each, and no schema is left over", () => {
    expect(Object.keys(requestSchemas).sort()).toEqual([...ids].sort());
    expect(Object.keys(dataSchemas).sort()).toEqual([...ids].sort());
  });

  test.each(rows)("%s reads a body exactly where its row says so, and every parameter of its path", (id, row) => {
    const request: { readonly body?: unknown; readonly query?: unknown; readonly params?: { readonly properties?: object } } =
      requestSchemas[id];
    expect(request.body !== undefined).toBe(row.body === "json");
    const inPath = [...row.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    expect(Object.keys(request.params?.properties ?? {})).toEqual(inPath);
  });

  test("only getHealth and login answer without a token", () => {
    expect(rows.filter(([, { auth }]) => auth === "none").map(([id]) => id)).toEqual(["getHealth", "login"]);
  });

  test("only createBrowserSession and finishLogin take a ticket or a code in place of a token", () => {
    expect(rows.filter(([, { auth }]) => auth === "ticket").map(([id]) => id)).toEqual(["finishLogin", "createBrowserSession"]);
  });

  test.each(rows.filter(([, { auth }]) => auth !== "none"))("%s may answer unauthenticated and expired_agent_session", (_id, row) => {
    expect(row.errors).toEqual(expect.arrayContaining(["unauthenticated", "expired_agent_session"]));
  });

  test("need only features that capabilities name", () => {
    const unknown = rows.filter(([, { feature }]) => feature !== undefined && !(featureNames as readonly string[]).includes(feature));
    expect(unknown).toEqual([]);
  });

  test("that are unsupported name a feature of the capabilities, in the service and in every host", async () => {
    const names: string[] = [];
    for (const layer of ["service", "hosts"]) {
      const folder = join(root, "src", layer);
      for (const file of await readdir(folder, { recursive: true })) {
        if (!file.endsWith(".ts") || file.endsWith(".test.ts")) continue;
        const text = await readFile(join(folder, file), "utf8");
        // At its own place, or by the function that makes the failure.
        for (const [, name = ""] of text.matchAll(/(?:\bfeature: |\bunsupported\()["`]([^"`]+)["`]/g))
          names.push(`${name} in ${layer}/${file}`);
      }
    }
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name) => !(featureNames as readonly string[]).includes(name.split(" in ")[0]!))).toEqual([]);
  });

  test("keep the time-outs and the replay rule of the specification", () => {
    const timeouts: Readonly<Record<number, readonly OperationId[]>> = {
      15000: [
        ..."getHealth login logout getSession getCapabilities listTemplates getTemplate listTemplateImages".split(" "),
        ..."listTemplateAttributes listNetworkTypes listIcons completeLinkInterfaces previewInterfaces".split(" "),
        ..."validateProject getProjectStatus execConsole execConsoleMany streamConsole".split(" "),
      ] as OperationId[],
      30000: ["openProject", "listProjectConsoles", "attachConsole"],
      180000: ["planProject", "destroyProject", "execProject"],
      300000: ["importProject", "deployProject", "reconcileProject", "inspectProject"],
    };
    const specified = Object.entries(timeouts).flatMap(([ms, each]) => each.map((id): [OperationId, number] => [id, Number(ms)]));
    expect(specified.map(([id]) => [id, operations[id].timeoutMs])).toEqual(specified);
    const noReplay =
      "getHealth login logout importProject deployProject reconcileProject destroyProject execProject execConsole execConsoleMany";
    const replayed = specified.filter(([id]) => operations[id].replay).map(([id]) => id);
    const expected = specified.map(([id]) => id).filter((id) => !`${noReplay} attachConsole streamConsole`.split(" ").includes(id));
    expect(replayed.sort()).toEqual(expected.sort());
  });
});

describe("error codes", () => {
  const codes = Object.keys(errors).sort();

  test("of docs/errors.md are those of the table, with the same status", async () => {
    const page = await readFile(join(root, "docs/errors.md"), "utf8");
    const listed = [...page.matchAll(/^\| `(\w+)` \| (\d+|–) \|/gm)].map(([, code = "", status = ""]) => [
      code,
      status === "–" ? 0 : Number(status),
    ]);
    expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(Object.entries(errors).map(([code, { status }]) => [code, status])));
    expect(listed).toHaveLength(codes.length);
  });

  test("of the OpenAPI document are those of the table, with the same status", () => {
    const listed = Object.entries(published["x-errors"]).map(([code, { status }]) => [code, status]);
    expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(Object.entries(errors).map(([code, { status }]) => [code, status])));
    const onWire = Object.keys(errors).filter((code) => answerStatus(code as ErrorCode) !== 0);
    expect([...(published.components.schemas.Failure?.properties?.code.enum ?? [])].sort()).toEqual(onWire.sort());
  });

  test("are each given by an operation, or by the router", () => {
    const given = new Set<string>([...commonErrors, "not_found", "method_not_allowed", ...rows.flatMap(([, row]) => row.errors)]);
    expect([...given].sort()).toEqual(codes);
  });
});

describe("the OpenAPI document", () => {
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );

  test("has every operation at its path, and no other", () => {
    const wanted = rows.flatMap(([, { method, path, aliases = [] }]) => [path, ...aliases].map((each) => `${method} ${each}`));
    expect(described.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(wanted.sort());
    const names = described.map(({ operation }) => operation.operationId);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(expect.arrayContaining(ids));
  });

  test.each(rows)("gives %s the codes of its row under their statuses", (id, row) => {
    const operation = described.find(({ operation }) => operation.operationId === id)?.operation;
    const listed = Object.entries(operation?.responses ?? {}).flatMap(([status, { content }]) =>
      (content?.["application/json"]?.schema.allOf?.[1]?.properties?.code.enum ?? []).map((code) => `${status} ${code}`),
    );
    // Failures that only the client raises about its own connection are not answers.
    const statusHere = (code: ErrorCode) => (row.errors.includes(code) ? answerStatus(code) : errors[code].status);
    const all = [...new Set([...commonErrors, ...row.errors])].filter((code) => statusHere(code) !== 0);
    expect(listed.sort()).toEqual(all.map((code) => `${statusHere(code)} ${code}`).sort());
    expect(operation?.security).toEqual({ none: [], ticket: [{ bearer: [] }, {}], bearer: undefined }[row.auth]);
    expect(operation?.requestBody !== undefined).toBe(row.body === "json");
  });

  test("refers only to schemas that it has", () => {
    const names = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name = ""]) => name);
    expect(names.length).toBeGreaterThan(100);
    expect(names.filter((name) => document.components.schemas[name] === undefined)).toEqual([]);
  });
});

test("generated files are those that the code generates now", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["scripts/generate.ts", "--check"], { cwd: root }).catch(
    (error: { stdout: string }) => error,
  );
  expect(stdout).toBe("");
});
