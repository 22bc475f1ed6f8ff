import { afterEach, expect, test } from "vitest";
import type { TestData } from "../../contract/schemas/tests.ts";
import { type Bench, createBench } from "../service.fixture.ts";

let bench: Bench | undefined;
afterEach(() => bench?.service.close());

const yaml = `name: down
nodes:
  off: {template: linux, start: false}
tests:
  - {name: "off", from: "off", command: "true"}
`;

test("a test in a node that does not run fails at once with that reason", { timeout: 20_000 }, async () => {
  bench = createBench();
  const ann = await bench.login("ann");
  await ann.call("deployProject", { yaml });
  const { tests } = (await ann.call("testProject", { lab: "/down" })) as TestData;
  expect(tests).toMatchObject([{ node: "off", outcome: "error", message: "off does not run", attempts: 1 }]);
});
