import { expect, test } from "vitest";
import { missingDaemons } from "./missing-daemons.ts";

const text = "router bgp 65000\n neighbor 10.0.0.2 remote-as 65001\nrouter ospf\nrouter ospf6\nrouter bgp 65000 vrf red\nbfd\n";

test("each section whose daemon is not in the list of the node is reported once, with the list that has it", () => {
  expect(missingDaemons(text, "ospfd, bfdd")).toEqual([
    {
      line: 1,
      column: 1,
      problem: "bgpd, which reads this section, is not among the daemons of the node: FRR leaves the section out",
      hint: 'write daemons: "ospfd bfdd bgpd", or daemons: auto for those that the configuration uses',
    },
    expect.objectContaining({ line: 4, problem: expect.stringContaining("ospf6d") }),
  ]);
});

test("no section is missing if the daemons follow from the configuration, or all are in the list", () => {
  for (const daemons of ["", "auto", "bgpd ospfd ospf6d bfdd"]) expect(missingDaemons(text, daemons)).toEqual([]);
});
