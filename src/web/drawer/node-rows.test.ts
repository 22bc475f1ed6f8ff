import { expect, test } from "vitest";
import type { InspectedNode } from "../../contract/schemas/observe.ts";
import { type NodeRow, nodeRows, sortedBy, sortedRows } from "./node-rows.ts";

const row = (name: string, more: Partial<NodeRow> = {}): NodeRow => ({
  id: name,
  key: name,
  name,
  template: "frr",
  status: "running",
  cpu: undefined,
  memory: undefined,
  disk: undefined,
  uptime: undefined,
  links: 0,
  addresses: [],
  ...more,
});
const names = (rows: readonly NodeRow[]) => rows.map(({ name }) => name);

test("the addresses of a node begin with those that the machine reaches, and have no link-local ones", () => {
  const node = {
    id: "1",
    node: "r1",
    name: "r1",
    template: "frr",
    status: "running",
    management: "198.18.7.2/24",
    management_ipv6: "fd00::2/64",
  };
  const interfaces = [{ name: "eth0", addresses: ["10.0.0.1/24", "fe80::1/64"] }];
  const [found] = nodeRows([{ ...node, interfaces } as unknown as InspectedNode], new Map());
  expect(found?.addresses).toEqual(["198.18.7.2/24", "fd00::2/64", "10.0.0.1/24"]);
});

test("names are sorted by their numbers: r2 before r10", () => {
  const rows = [row("r10"), row("r2"), row("h1")];
  expect(names(sortedRows(rows, { column: "name", isDescending: false }))).toEqual(["h1", "r2", "r10"]);
  expect(names(sortedRows(rows, { column: "name", isDescending: true }))).toEqual(["r10", "r2", "h1"]);
});

test("nodes without a value are last in both orders, and nodes with the same value are sorted by name", () => {
  const rows = [row("a"), row("b", { cpu: 5 }), row("d", { cpu: 90 }), row("c", { cpu: 5 })];
  expect(names(sortedRows(rows, { column: "cpu", isDescending: false }))).toEqual(["b", "c", "d", "a"]);
  expect(names(sortedRows(rows, { column: "cpu", isDescending: true }))).toEqual(["d", "b", "c", "a"]);
});

test("a second click on a column turns the order around, and another column begins ascending", () => {
  const first = sortedBy({ column: "name", isDescending: false }, "cpu");
  expect(first).toEqual({ column: "cpu", isDescending: false });
  expect(sortedBy(first, "cpu")).toEqual({ column: "cpu", isDescending: true });
  expect(sortedBy(sortedBy(first, "cpu"), "name")).toEqual({ column: "name", isDescending: false });
});
