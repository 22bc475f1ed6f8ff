import { once } from "node:events";
import { request as httpsRequest } from "node:https";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type OperationId, type OperationRow, operations } from "../../src/contract/operations.ts";
import { requestSchemas } from "../../src/contract/schemas/table.ts";
import { type RunningServer, startServer } from "../../src/server/start.ts";
import { fingerprintOf } from "../../src/server/tls/certificate.ts";
import { selfSigned } from "../../src/server/tls/self-signed.ts";
import type { Handlers } from "../../src/service/service.ts";
import { RawClient } from "./raw-client.ts";
import { serve } from "./served.ts";

interface Field {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly items?: Field;
  readonly properties?: Readonly<Record<string, Field>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Field | boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
}

interface BodyOperation {
  readonly id: OperationId;
  readonly row: OperationRow;
  readonly schema: Field & { readonly properties: Readonly<Record<string, Field>> };
}

const bodies = (Object.keys(operations) as OperationId[]).flatMap((id): BodyOperation[] => {
  const request: { readonly body?: unknown; readonly query?: unknown; readonly params?: unknown } = requestSchemas[id];
  return request.body === undefined ? [] : [{ id, row: operations[id], schema: request.body as BodyOperation["schema"] }];
});
const fields = bodies.flatMap(({ id, row, schema }) =>
  Object.entries(schema.properties).map(([name, field]) => ({ id, row, schema, name, field, any: JSON.stringify(field) === "{}" })),
);

/** The body as the service was given it. */
let received: unknown;
let server: RunningServer;
let client: RawClient;

/** The answer of an operation that streams. */
async function* oneEvent(): AsyncGenerator<object> {
  yield {};
}

beforeAll(async () => {
  const made = selfSigned({ names: ["localhost"], from: new Date(Date.now() - 1000), until: new Date(Date.now() + 1e9) });
  server = await startServer({
    // Only what the server itself decides is under test: every call that gets through is noted and answered.
    service: {
      handlers: new Proxy({} as Handlers, {
        get:
          (_, id) =>
          async ({ body }: { body: unknown }) => {
            received = body;
            return id === "execNodes" ? oneEvent() : {};
          },
      }),
      answerMachine: () => Promise.reject(new Error("no other machine calls")),
      storeSilentMs: () => undefined,
      authenticate: () => ({ user: "ann", role: "user", session: "s" }),
      authenticateBrowser: () => ({ user: "ann", role: "user", session: "s" }),
      passedOn: (caller) => caller,
      requestEnded: () => {},
      recover: async () => {},
      signInBrowser: async () => ({ user: "ann", fragment: "" }),
      signInProgram: async () => ({ user: "ann", code: "" }),
      lookAtLeases: async () => {},
      lookAtMachines: async () => {},
      keepReady: () => undefined,
      close: async () => {},
    },
    certificate: { ...made, fingerprint: fingerprintOf(made.certificate) },
    version: "0",
    graceMs: 100,
  });
  client = new RawClient(server.url, "token");
});
afterAll(async () => {
  client[Symbol.dispose]();
  await server.close();
});
beforeEach(() => {
  received = undefined;
});

/** A value that the schema takes. */
function valid(field: Field): unknown {
  if (field.enum !== undefined) return field.enum[0];
  switch (field.type) {
    case "string":
      return "x";
    case "integer":
    case "number":
      return field.minimum ?? 0;
    case "boolean":
      return false;
    case "array":
      return Array(field.minItems ?? 0).fill(valid(field.items ?? {}));
    case "object":
      return Object.fromEntries((field.required ?? []).map((name) => [name, valid(field.properties?.[name] ?? {})]));
    default:
      return null;
  }
}

/** A value of each JSON type that the field does not have, numbers as text among them: nothing may be converted. */
function wrong(field: Field): readonly unknown[] {
  const values = { string: "1", number: 1.5, boolean: true, array: [null], object: { x: null } };
  const taken = field.type === "integer" ? [] : [field.type];
  return Object.entries(values)
    .filter(([type]) => !taken.includes(type) || type === "array")
    .map(([, value]) => value);
}

describe("each field of each body", () => {
  test.each(fields.map((each) => [`${each.id}.${each.name}`, each] as const))(
    "%s is refused as null, unless it takes any JSON",
    async (_name, each) => {
      const answer = await client.send(each.row, { ...(valid(each.schema) as object), [each.name]: null });
      if (each.any) {
        expect(answer.status).toBe(200);
        expect(received).toHaveProperty(each.name, null);
      } else {
        expect([answer.status, answer.json.code]).toEqual([400, "bad_request"]);
        expect(answer.json.data.problems.map(({ path }: { path: string }) => path)).toContain(`/${each.name}`);
        expect(received).toBeUndefined();
      }
    },
  );

  test.each(fields.filter(({ any }) => !any).map((each) => [`${each.id}.${each.name}`, each] as const))(
    "%s of a wrong type is refused and never converted",
    async (_name, each) => {
      for (const value of wrong(each.field)) {
        const answer = await client.send(each.row, { ...(valid(each.schema) as object), [each.name]: value });
        expect([value, answer.status, answer.json.code]).toEqual([value, 400, "bad_request"]);
      }
      expect(received).toBeUndefined();
    },
  );

  test("any JSON is taken for state, source and value only", () => {
    expect([...new Set(fields.filter(({ any }) => any).map(({ name }) => name))].sort()).toEqual(["source", "state", "value"]);
  });
});

describe.each(bodies.map((each) => [each.id, each] as const))("%s", (_id, { row, schema }) => {
  const typed = Object.entries(schema.properties).filter(([, field]) => JSON.stringify(field) !== "{}");

  test("names every problem at once", async () => {
    const answer = await client.send(row, Object.fromEntries(Object.keys(schema.properties).map((name) => [name, null])));
    const paths = answer.json.data.problems.map(({ path }: { path: string }) => path.split("/")[1]);
    expect([...new Set(paths)].sort()).toEqual(typed.map(([name]) => name).sort());
    for (const { message } of answer.json.data.problems) expect(message).toMatch(/\w/);
  });

  test("names every required field that is missing", async () => {
    const answer = await client.send(row, {});
    const required = [...(schema.required ?? [])].sort();
    if (required.length === 0) expect(answer.status).toBe(200);
    else expect(answer.json.data.problems.map(({ path }: { path: string }) => path).sort()).toEqual(required.map((name) => `/${name}`));
  });

  test(row.unknownFields === "refuse" ? "refuses an unknown field and names it" : "ignores an unknown field", async () => {
    const answer = await client.send(row, { ...(valid(schema) as object), "un/known": 1 });
    if (row.unknownFields === "ignore") expect(answer.status).toBe(200);
    else {
      expect([answer.status, answer.json.code]).toEqual([400, "unknown_field"]);
      expect(answer.json.data.problems).toContainEqual({ path: "/un~1known", message: "is unknown" });
      expect(received).toBeUndefined();
    }
  });

  test("fills no default in", async () => {
    const body = valid(schema);
    await client.send(row, body);
    expect(received).toEqual(body);
  });
});

describe("dir and out", () => {
  const withLocalPaths = fields
    .filter(({ name }) => name === "dir" || name === "out")
    .map((each) => [`${each.id}.${each.name}`, each] as const);

  test("are known to every body but those of sign-in, of tokens, of quotas, of reservations, of machines, of users, of files of other tools and of disks", () => {
    const without = bodies.filter(({ schema }) => schema.properties.dir === undefined).map(({ id }) => id);
    expect(without).toEqual([
      ...[
        "login",
        "finishLogin",
        "createBrowserSession",
        "createToken",
        "revokeToken",
        "setQuota",
        "createReservation",
        "removeReservation",
        "setMachine",
        "removeMachine",
        "drainMachine",
        "createJoinToken",
        "setHostUser",
        "removeHostUser",
      ],
      ...["importFile", "exportDisks", "importDisks", "uploadDiskPart"],
    ]);
  });

  test.each(withLocalPaths)("%s is refused unless it is empty", async (_name, { row, schema, name }) => {
    const refused = await client.send(row, { ...(valid(schema) as object), [name]: "/tmp" });
    expect([refused.status, refused.json.code]).toEqual([400, "field_not_allowed"]);
    expect(refused.json.data.problems).toEqual([{ path: `/${name}`, message: "is not allowed" }]);
    expect(received).toBeUndefined();
    expect((await client.send(row, { ...(valid(schema) as object), [name]: "" })).status).toBe(200);
  });

  const withUnknown = bodies.flatMap(({ id, row, schema }) =>
    row.unknownFields === "refuse"
      ? []
      : ["dir", "out"].filter((name) => schema.properties[name] === undefined).map((name) => [`${id}.${name}`, row, schema, name] as const),
  );
  test.each(withUnknown)("%s is no field there, and ignored like any other", async (_name, row, schema, name) => {
    expect((await client.send(row, { ...(valid(schema) as object), [name]: "/tmp" })).status).toBe(200);
    expect(received).toBeDefined();
  });
});

test("a thousand problems are answered by the first hundred", async () => {
  const files = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`f${index}`, index]));
  const answer = await client.post("/api/v1/projects/plan", { files });
  expect(answer.json.data.problems).toHaveLength(100);
  expect(answer.json.error).toMatch(/997 more/);
});

test.each<[string, string, string]>([
  ["a list of millions", `{"action":"start","nodes":[${"0,".repeat(999_000)}0]}`, "/nodes"],
  [
    "a map of a hundred thousand",
    `{"action":"start","files":{${Array.from({ length: 100_000 }, (_, index) => `"${index}":0`)}}}`,
    "/files",
  ],
  ["more than a million values", `{"action":"start","nodes":[${"0,".repeat(1_000_001)}0]}`, ""],
  ["a million empty objects", `{"action":"start","state":[${"{},".repeat(1_000_001)}0]}`, ""],
])("%s is refused without a problem for each", async (_name, body, path) => {
  const started = performance.now();
  const answer = await client.post("/api/v1/projects/exec", body);
  expect([answer.status, answer.json.code]).toEqual([400, "bad_request"]);
  expect(answer.json.data.problems).toEqual([{ path, message: expect.stringMatching(/more than/) }]);
  expect(performance.now() - started).toBeLessThan(30_000);
});

test("a word of megabytes is refused, and not sent back", async () => {
  const answer = await client.post("/api/v1/projects/plan", {
    direction: "x".repeat(5_000_000),
    files: { [`/${"y".repeat(5_000_000)}`]: 1 },
  });
  expect([answer.status, answer.json.code]).toEqual([400, "bad_request"]);
  expect(answer.text.length).toBeLessThan(300_000);
});

test("a text or list beyond its bounds is refused with the bound and with what to do", async () => {
  const capture = (filter: string) => client.post("/api/v1/projects/capture", { lab: "/a", node: "h1", interface: "eth0", filter });
  const { status, json } = await capture("x".repeat(4097));
  expect([status, json.error]).toEqual([400, "/filter has more than 4096 characters: shorten it"]);
  expect(json.data.problems).toEqual([{ path: "/filter", message: "has more than 4096 characters: shorten it" }]);
  expect((await capture("x".repeat(4096))).json.code).not.toBe("bad_request");
  const link = (endpoints: readonly string[]) => client.post("/api/v1/projects/links/suspend", { lab: "/a", endpoints, suspended: true });
  expect((await link(["a:1"])).json.error).toBe("/endpoints needs at least 2 items");
  expect((await link(["a:1", "b:1", "c:1"])).json.error).toBe("/endpoints has more than 2 items: send fewer");
});

test("a file name with a line break is checked like any other", async () => {
  expect((await client.post("/api/v1/projects/plan", { files: { "a\nb": 1 } })).json.code).toBe("bad_request");
});

test("a query parameter that is given twice is bad_request, not a list", async () => {
  const answer = await client.get("/api/v1/templates?provisioned=true&provisioned=false");
  expect([answer.status, answer.json.code]).toEqual([400, "bad_request"]);
  expect(answer.json.data.problems[0].path).toBe("/provisioned");
});

test("large bodies of one user that are not answered yet are bounded together; small ones and other users go on", async () => {
  await using served = await serve();
  const [ann, bob] = [await served.signIn("ann"), await served.signIn("bob")];
  const path = "/api/v1/projects/status";
  const announced = () => {
    const headers = { Authorization: `Bearer ${ann.token}`, "Content-Type": "application/json", "Content-Length": 33_000_000 };
    const sent = httpsRequest(new URL(path, served.url), { method: "POST", headers, rejectUnauthorized: false, agent: false });
    sent.on("error", () => {});
    sent.write('{"lab": "/none", "more": "');
    return sent;
  };
  const large = { lab: "/none", more: "x".repeat(20_000_000) };
  const unfinished = [1, 2, 3, 4, 5].map(announced);
  try {
    // One of them is too much.
    await Promise.race(unfinished.map((each) => once(each, "response")));
    const refused = await ann.post(path, large);
    expect([refused.status, refused.headers["retry-after"]]).toEqual([503, "5"]);
    expect((await ann.post(path, { lab: "/none" })).json.code).toBe("lab_not_found");
    expect((await bob.post(path, large)).json.code).toBe("lab_not_found");
  } finally {
    for (const each of unfinished) each.destroy();
  }
  await expect.poll(async () => (await ann.post(path, large)).json.code).toBe("lab_not_found");
});
