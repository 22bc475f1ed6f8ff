import fastify from "fastify";
import { expect, test } from "vitest";
import { requestSchemas } from "../contract/schemas/table.ts";
import { compileAtFirstUse } from "./validators.ts";

const number = { type: "object", properties: { n: { type: "integer" } }, required: ["n"], additionalProperties: false };

/** An application with the routes `/a` and `/b`, and the schemas that it has compiled. */
function application() {
  const compiled: object[] = [];
  const app = fastify({
    ajv: {
      onCreate: (ajv) => {
        const compile = ajv.compile.bind(ajv);
        ajv.compile = ((schema: object) => {
          compiled.push(schema);
          return compile(schema);
        }) as typeof ajv.compile;
        compileAtFirstUse(ajv as never);
      },
    },
  });
  for (const path of ["/a", "/b"]) app.post(path, { schema: { body: number } }, async (request) => request.body);
  const post = (path: string, body: object) => app.inject({ method: "POST", url: path, payload: body });
  return { app, compiled, post };
}

test("a schema is compiled once, at the first request that needs it", async () => {
  const { app, compiled, post } = application();
  await app.ready();
  expect(compiled).toHaveLength(0);
  for (const n of [1, 2, 3]) expect((await post("/a", { n })).json()).toEqual({ n });
  expect(compiled).toHaveLength(1);
  expect((await post("/b", { n: 4 })).json()).toEqual({ n: 4 });
  expect(compiled).toHaveLength(2);
});

test("each request is refused with its own problems, also the first one and one after a correct request", async () => {
  const { post } = application();
  const message = async (body: object) => {
    const answer = await post("/a", body);
    return [answer.statusCode, (answer.json() as { message?: string }).message];
  };
  expect(await message({})).toEqual([400, "body must have required property 'n'"]);
  expect(await message({ n: 1 })).toEqual([200, undefined]);
  expect(await message({ n: "x" })).toEqual([400, "body/n must be integer"]);
  expect(await message({})).toEqual([400, "body must have required property 'n'"]);
});

test("every schema of the contract compiles", async () => {
  const failed: string[] = [];
  let checked = 0;
  const app = fastify({
    ajv: {
      onCreate: (ajv) => {
        for (const [id, parts] of Object.entries(requestSchemas as Readonly<Record<string, Readonly<Record<string, object>>>>)) {
          for (const [part, schema] of Object.entries(parts)) {
            checked += 1;
            try {
              ajv.compile(schema);
            } catch (error) {
              failed.push(`${id} ${part}: ${(error as Error).message}`);
            }
          }
        }
      },
    },
  });
  app.post("/", { schema: { body: number } }, async () => ({}));
  await app.ready();
  expect(failed).toEqual([]);
  expect(checked).toBeGreaterThan(50);
});
