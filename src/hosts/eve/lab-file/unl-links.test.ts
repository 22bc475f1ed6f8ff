import { expect, test } from "vitest";
import { linksOf, type UnlEnd } from "../../../formats/unl/links.ts";
import { readUnl, type UnlLab, writeUnl } from "./unl.ts";
import { attach, connect, connectSerial, disconnect, lowestFree } from "./unl-links.ts";

const node = (id: number) => ({ id, name: `r${id}`, type: "iol", template: "iol", ethernet: 1, serial: 1, interfaces: [] });
const bare: UnlLab = {
  name: "links",
  nodes: [node(1), node(2), node(3)],
  networks: [{ id: 2, name: "lan", type: "bridge", visibility: 1 }],
  textObjects: [],
  pictures: [],
  configs: [],
};
const end = (of: number, index: number): UnlEnd => ({ node: of, interface: index });

test("a link between nodes is a hidden bridge with the lowest free id", () => {
  const lab = readUnl(writeUnl(connect(bare, end(2, 0), end(1, 16), { name: "r2-r1", left: 4, top: 5 })));
  expect(lab.networks).toContainEqual({ id: 1, type: "bridge", name: "r2-r1", left: 4, top: 5, visibility: 0 });
  expect(linksOf(lab)).toEqual([{ kind: "p2p", network: 1, a: end(1, 16), b: end(2, 0) }]);
});

test("both ends of a serial link name the other", () => {
  const lab = connectSerial(bare, end(3, 1), end(1, 17));
  expect(lab.nodes[0]?.interfaces).toEqual([{ id: 17, type: "serial", remote_id: 3, remote_if: 1 }]);
  expect(lab.nodes[2]?.interfaces).toEqual([{ id: 1, type: "serial", remote_id: 1, remote_if: 17 }]);
  expect(linksOf(lab)).toEqual([{ kind: "serial", a: end(1, 17), b: end(3, 1) }]);
});

test("an end of a network that is shown, or has another number of ends, is an attachment", () => {
  const shown = attach(attach(bare, end(1, 0), 2), end(2, 0), 2);
  expect(linksOf(shown).map(({ kind }) => kind)).toEqual(["attachment", "attachment"]);
  const hidden = connect(bare, end(1, 0), end(2, 0));
  expect(linksOf(attach(hidden, end(3, 0), 1)).map(({ kind }) => kind)).toEqual(["attachment", "attachment", "attachment"]);
});

test("a cloud is never a link between nodes", () => {
  const cloud = { ...bare, networks: [{ id: 2, type: "pnet0", visibility: 0 }] };
  expect(linksOf(attach(attach(cloud, end(1, 0), 2), end(2, 0), 2)).map(({ kind }) => kind)).toEqual(["attachment", "attachment"]);
});

test("an end that is taken away takes the link and its bridge with it, and no other network", () => {
  expect(disconnect(connect(bare, end(1, 0), end(2, 0)), end(2, 0))).toEqual(bare);
  expect(disconnect(connectSerial(bare, end(1, 1), end(2, 1)), end(1, 1))).toEqual(bare);
  expect(disconnect(attach(bare, end(1, 0), 2), end(1, 0))).toEqual(bare);
  expect(disconnect(bare, end(1, 0))).toEqual(bare);
});

test("an end that is joined again leaves its former network", () => {
  const lab = connect(connect(bare, end(1, 0), end(2, 0)), end(1, 0), end(3, 0));
  expect(linksOf(lab)).toEqual([{ kind: "p2p", network: 1, a: end(1, 0), b: end(3, 0) }]);
});

test("what leads to nothing is no link", () => {
  const lost = {
    ...bare,
    nodes: [
      {
        ...node(1),
        interfaces: [
          { id: 0, network_id: 9 },
          { id: 1, remote_id: 9, remote_if: 0 },
        ],
      },
    ],
  };
  expect(linksOf(lost)).toEqual([]);
});

test("a node that is not there cannot be joined", () => {
  expect(() => attach(bare, end(9, 0), 2)).toThrow(RangeError);
});

test("ids fill gaps", () => {
  expect(lowestFree([])).toBe(1);
  expect(lowestFree([{ id: 1 }, { id: 3 }])).toBe(2);
});
