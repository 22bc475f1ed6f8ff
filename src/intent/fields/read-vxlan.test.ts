import { expect, test } from "vitest";
import { readIntent } from "../read/read.ts";

const read = (network: string) => {
  const { lab, diagnostics } = readIntent(
    `name: x\nnodes: {r1: {template: frr}}\nnetworks: {away: ${network}}\nlinks: [["r1:eth1", away]]\n`,
    {},
  );
  return lab?.networks[0] ?? diagnostics.map(({ code, path, message }) => `${code} ${path} ${message}`);
};

test("a network with vxlan has the type vxlan; the usual port is left out", () => {
  const vxlan = { remote: "192.0.2.7", vni: 1001 };
  expect(read("{vxlan: {remote: 192.0.2.7, vni: 1001}}")).toEqual({ key: "away", name: "away", type: "vxlan", vxlan });
  expect(read("{type: vxlan, vxlan: {remote: 192.0.2.7, vni: 1001, port: 4789}}")).toMatchObject({ type: "vxlan", vxlan });
  expect(read("{vxlan: {remote: 192.0.2.7, vni: 1001, port: 14789}}")).toMatchObject({ vxlan: { ...vxlan, port: 14789 } });
});

test("a tunnel without an end, to no machine or out of range is an error with its place", () => {
  expect(read("{type: vxlan}")).toEqual(["missing_key /networks/away a network of type vxlan needs vxlan"]);
  expect(read("{type: nat, vxlan: {remote: 192.0.2.7, vni: 1}}")).toEqual([
    "invalid_value /networks/away/type a network with vxlan has the type vxlan",
  ]);
  expect(read("{vxlan: {vni: 1}}")).toEqual(["missing_key /networks/away/vxlan vxlan needs remote"]);
  expect(read("{vxlan: {remote: 239.1.1.1, vni: 1}}")).toEqual([
    'invalid_value /networks/away/vxlan/remote "remote": 239.1.1.1 is not an address of another machine',
  ]);
  expect(read("{vxlan: {remote: lab2, vni: 1}}")).toEqual([
    'invalid_value /networks/away/vxlan/remote "remote": "lab2" is not an IPv4 address',
  ]);
  expect(read("{vxlan: {remote: 192.0.2.7, vni: 16777216}}")).toEqual([
    "out_of_range /networks/away/vxlan/vni 16777216 is out of range: 1 to 16777215",
  ]);
});
