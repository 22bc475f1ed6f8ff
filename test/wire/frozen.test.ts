import { describe, expect, test } from "vitest";
import { compareSurfaces } from "../../scripts/surface/compare.ts";
import { frozenSurface } from "../../scripts/surface/frozen.ts";
import { type FieldSurface, type OperationSurface, type Surface, surfaceNow } from "../../scripts/surface/surface.ts";

const now = surfaceNow();

test("what API v1 has promised is kept, and what is new is promised too: node scripts/freeze.ts --add", async () => {
  expect(compareSurfaces(await frozenSurface(), now)).toEqual({ broken: [], added: [] });
});

const deploy = now.operations["deployProject"]!;

/** The surface with another row for deployProject. */
function withDeploy(change: Partial<OperationSurface>): Surface {
  return { ...now, operations: { ...now.operations, deployProject: { ...deploy, ...change } } };
}

function withFields(fields: Readonly<Record<string, FieldSurface | undefined>>): Surface {
  const all = Object.entries({ ...deploy.fields, ...fields }).filter((entry): entry is [string, FieldSurface] => entry[1] !== undefined);
  return withDeploy({ fields: Object.fromEntries(all) });
}

function without<T extends object>(record: T, key: string): T {
  return Object.fromEntries(Object.entries(record).filter(([name]) => name !== key)) as T;
}

describe("a surface is broken by", () => {
  test.each<[string, Surface, string]>([
    ["an operation less", { ...now, operations: without(now.operations, "deployProject") }, "operation deployProject was removed"],
    ["another method", withDeploy({ method: "PUT" }), "deployProject: method POST became PUT"],
    ["another path", withDeploy({ path: "/api/v1/deploy" }), "deployProject: path /api/v1/projects/deploy became /api/v1/deploy"],
    ["other authentication", withDeploy({ auth: "none" }), "deployProject: auth bearer became none"],
    ["another replay rule", withDeploy({ replay: true }), "deployProject: replay false became true"],
    ["another time-out", withDeploy({ timeout_ms: 1 }), "deployProject: timeout_ms 300000 became 1"],
    ["unknown fields refused", withDeploy({ unknown_fields: "refuse" }), "deployProject: unknown_fields ignore became refuse"],
    ["a code less", { ...now, codes: without(now.codes, "lab_exists") }, "code lab_exists was removed"],
    ["another status", { ...now, codes: { ...now.codes, lab_exists: 400 } }, "code lab_exists: status 409 became 400"],
    [
      "a code that an operation gives no more",
      withDeploy({ codes: deploy.codes.filter((code) => code !== "lab_exists") }),
      "deployProject: code lab_exists was removed",
    ],
    ["a field less in a request", withFields({ "body.replace": undefined }), "deployProject: body.replace was removed"],
    ["a field less in an answer", withFields({ "data.state": undefined }), "deployProject: data.state was removed"],
    [
      "another type",
      withFields({ "body.replace": { type: "string", required: false } }),
      "deployProject: body.replace: type boolean became string",
    ],
    [
      "a field that must be sent now",
      withFields({ "body.replace": { type: "boolean", required: true } }),
      "deployProject: body.replace became required",
    ],
    [
      "a new field that must be sent",
      withFields({ "body.reason": { type: "string", required: true } }),
      "deployProject: body.reason is new and required",
    ],
  ])("%s", (_what, changed, line) => {
    expect(compareSurfaces(now, changed).broken).toEqual([line]);
  });

  test("an alias less, and an answer's field that may be missing now", () => {
    const health = now.operations["getHealth"]!;
    const exec = now.operations["execProject"]!;
    const changed = {
      ...now,
      operations: {
        ...now.operations,
        getHealth: { ...health, aliases: [] },
        execProject: { ...exec, fields: { ...exec.fields, "data.failed": { type: "integer", required: false } } },
      },
    };
    expect(compareSurfaces(now, changed).broken).toEqual([
      "execProject: data.failed became optional",
      "getHealth: path /health was removed",
    ]);
  });
});

describe("a surface may grow by", () => {
  test.each<[string, Surface, string]>([
    ["an operation", { ...now, operations: { ...now.operations, more: deploy } }, "operation more"],
    ["a code", { ...now, codes: { ...now.codes, more: 418 } }, "code more"],
    ["a code of an operation", withDeploy({ codes: [...deploy.codes, "more"] }), "deployProject: code more"],
    ["an optional field", withFields({ "body.reason": { type: "string", required: false } }), "deployProject: body.reason"],
    ["a field of the answer", withFields({ "data.more": { type: "string", required: true } }), "deployProject: data.more"],
  ])("%s", (_what, changed, line) => {
    expect(compareSurfaces(now, changed)).toEqual({ broken: [], added: [line] });
  });

  test("a word more in an enumeration, and none less", () => {
    const session = now.operations["getSession"]!;
    const role = session.fields["data.role"]!;
    const withRole = (type: string): Surface => ({
      ...now,
      operations: { ...now.operations, getSession: { ...session, fields: { ...session.fields, "data.role": { ...role, type } } } },
    });
    expect(compareSurfaces(now, withRole(`${role.type}|"guest"`))).toMatchObject({ broken: [], added: [expect.stringContaining("guest")] });
    expect(compareSurfaces(now, withRole('"admin"')).broken).toHaveLength(1);
  });
});
