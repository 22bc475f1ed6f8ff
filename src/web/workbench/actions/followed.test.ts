import { expect, test } from "vitest";
import type { GraphLink, GraphNode } from "../../topology/graph/graph.ts";
import { followed, identities } from "./followed.ts";

const node = (id: string, key: string | null) => ({ id, key, kind: "node" }) as GraphNode;
const link = (id: string, key: string) => ({ id, key }) as GraphLink;
const drawn = identities({ nodes: [node("1", "r1"), node("new:node:h1", "h1"), node("7", null)], links: [link("new:link:a", "a")] });
const applied = identities({ nodes: [node("1", "r1"), node("2", "h1")], links: [link("5", "a")] });

test("new parts stay selected when the host gives them their ids", () => {
  expect([...followed(new Set(["new:node:h1", "link:new:link:a", "1"]), drawn, applied)]).toEqual(["2", "link:5", "1"]);
});

test("a part that is not drawn, and one without an identity, keep their ids", () => {
  const selected = new Set(["new:node:h1", "7", "shape:1"]);
  expect(followed(selected, drawn, new Map())).toBe(selected);
});
