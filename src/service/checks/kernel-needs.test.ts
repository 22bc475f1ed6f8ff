import { expect, test } from "vitest";
import type { HostSession } from "../../hosts/host.ts";
import { fieldPlaces } from "../../intent/places/field-places.ts";
import { readIntent } from "../../intent/read/read.ts";
import type { WorkPart } from "../context/parts.ts";
import { kernelNeeds, kernelProblems } from "./kernel-needs.ts";

const yaml = `name: needs
defaults: {template: linux}
nodes:
  plain: {exec: [ip addr add 10.0.0.1/24 dev eth0, "echo type vrf", ip route show table 10]}
  vrf: {exec: [ip -4 link add red type vrf table 10]}
  own: {kernel: own, exec: [ip link add red type vrf table 10]}
  script:
    startup-config: |
      # ip link add is below
      ip link add link eth0 name eth0.10 type vlan id 10; tc qdisc add dev eth0 root netem delay 1ms
      sysctl -w net.mpls.conf.eth0.input=1
  router:
    template: frr
    attributes: {daemons: "ospfd ldpd"}
    startup-config: |
      interface eth0
       description type vrf
      router bgp 65000 vrf red
  box: {template: container, exec: [ip link add red type vrf table 10]}
`;
const { lab } = readIntent(yaml);
const frr = (key: string) => key === "router";
const needs = (key: string) =>
  kernelNeeds(lab!.nodes.find((node) => node.key === key)!, frr(key)).map(({ feature, field }) => `${field} ${feature}`);

test("commands and configurations of FRR show the features of the kernel that they use", () => {
  expect(needs("plain")).toEqual([]);
  expect(needs("vrf")).toEqual(["exec vrf"]);
  expect(needs("script")).toEqual(["startup-config vlan", "startup-config mpls", "startup-config netem"]);
  expect(needs("router")).toEqual(["startup-config vrf", "attributes.daemons mpls"]);
});

test("a node is warned about features that the machine lacks, if it can have a kernel of its own and has none", async () => {
  const host = (kernelLacks: readonly string[]) => {
    const ownKernel = { maxInterfaces: 16, minRam: 96 };
    const templates = [{ id: "linux", ownKernel }, { id: "frr", configLanguage: "frr", ownKernel }, { id: "container" }];
    return { rules: async () => ({ kernelLacks, templates }) } as unknown as HostSession;
  };
  const context = { work: { fieldPlaces: async (...args: Parameters<typeof fieldPlaces>) => fieldPlaces(...args) } } as unknown as WorkPart;
  const text = { lab: lab!, yaml, files: {} };
  expect(await kernelProblems(context, host([]), text)).toEqual([]);
  const found = await kernelProblems(context, host(["vrf", "vlan"]), text);
  expect(found.map(({ line, message }) => `${line} ${message.split(",")[0]}`)).toEqual([
    "5 exec of vrf needs VRF",
    "8 startup-config of script needs VLAN interfaces (802.1Q)",
    "15 startup-config of router needs VRF",
  ]);
  expect(found[0]).toMatchObject({ severity: "warning", code: "kernel_lacks", hint: expect.stringContaining("kernel: own") });
  expect(await kernelProblems(context, host(["vrf"]), text, new Set(["plain", "own"]))).toEqual([]);
});
