import { expect, test } from "vitest";
import type { DefinedNode, LabDefinition } from "../definition.ts";
import { DefinitionText } from "../definition-text.ts";
import { empty } from "./definition.fixture.ts";

const node = { template: "linux", exec: [], ethernet: 2, env: {}, attributes: {}, labels: { site: "a" }, power: "running" } as const;
const lab: LabDefinition = {
  ...empty,
  description: 'two lines\nand a "quote"',
  nodes: [
    { id: 1, name: "h1", ...node, startupConfig: "hostname h1\n!\n" },
    { id: 2, name: "h2", ...node, exec: ["ip link set eth0 up"] },
  ],
  links: [
    {
      id: 1,
      endpoints: [
        { node: 1, interface: "eth0" },
        { node: 2, interface: "eth0" },
      ],
    },
  ],
};

test("the text of a definition is that of JSON with an indent of one, also after changes of some items", () => {
  const text = new DefinitionText();
  const [first, second] = lab.nodes as [DefinedNode, DefinedNode];
  const definitions = [
    empty,
    lab,
    { ...lab, links: lab.links.map((link) => ({ ...link, suspended: { a: true, b: false } })) },
    { ...lab, nodes: [first, { ...second, name: "other" }], locked: true },
    { ...lab, nodes: [second] },
    { ...lab, description: undefined } as unknown as LabDefinition,
    empty,
  ];
  for (const definition of definitions) expect(text.of(definition)).toBe(`${JSON.stringify(definition, null, 1)}\n`);
});
