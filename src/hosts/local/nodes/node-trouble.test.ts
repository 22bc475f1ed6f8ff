import { expect, test } from "vitest";
import { Failure } from "../../../contract/errors.ts";
import { nodeTrouble, troubledNode } from "./node-trouble.ts";

test.each([
  ["a text", "no space left"],
  ["an object", { message: "no space left" }],
])("a host's message that is %s gets the id of the node", (_, host) => {
  const failure = nodeTrouble({ id: 3 }, new Failure("host_error", "no space left", { data: { host } }));
  expect(failure.data).toEqual({ host: { message: "no space left", node_id: "3" } });
  expect(troubledNode(failure)).toBe(3);
});
