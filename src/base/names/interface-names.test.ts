import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { interfaceAlias, interfaceNames, interfaceNaming } from "./interface-names.ts";

describe("interface names", () => {
  it.each([
    ["eth{0}", ["eth0", "eth1", "eth2"]],
    ["ens{2}", ["ens2", "ens3", "ens4"]],
    ["Gi{1}", ["Gi1", "Gi2", "Gi3"]],
    ["Ge0/0/{0-5}", ["Ge0/0/0", "Ge0/0/1", "Ge0/0/2"]],
    ["Gi{0}/{0-4}", ["Gi0/0", "Gi0/1", "Gi0/2", "Gi0/3", "Gi1/0", "Gi1/1"]],
    ["Gi{1}/{1-2}", ["Gi1/1", "Gi1/2", "Gi2/1"]],
    ["Fa{0}/{0}", ["Fa0/0", "Fa0/1", "Fa0/2"]],
    ["Mgmt1,Eth{1}", ["Mgmt1", "Eth1", "Eth2"]],
    ["fxp0, em0, ge-0/0/{0}", ["fxp0", "em0", "ge-0/0/0", "ge-0/0/1"]],
    ["port", ["port0", "port1"]],
    ["", ["e0", "e1"]],
    ["a(b)+{0}c", ["a(b)+0c", "a(b)+1c"]],
    ["Ethernet{0+4}", ["Ethernet0", "Ethernet4", "Ethernet8"]],
    ["e1-{1}|ethernet-1/{1}", ["e1-1", "e1-2"]],
  ])("follow the format %j", (format, names) => {
    expect(interfaceNames(format, names.length)).toEqual(names);
  });

  it("convert back to their index in every format", () => {
    const formats = fc.constantFrom(
      "eth{0}",
      "ens{2}",
      "Gi{0}/{0-4}",
      "x{3}/{1-7}y",
      "Fa{0}/{0}",
      "Mgmt,Eth{1}",
      "Ethernet{0+4}",
      "e1-{1}|ethernet-1/{1}",
      "e",
      "",
    );
    fc.assert(
      fc.property(formats, fc.nat({ max: 5000 }), (format, index) => {
        const naming = interfaceNaming(format);
        expect(naming.index(naming.name(index))).toBe(index);
      }),
    );
  });

  it("have the index of each of their formats, in upper and lower case behind the first", () => {
    const naming = interfaceNaming("eth{0}|Management0,Ethernet{1}|Ma0,Et{1}|eth0,Ethernet1/{0+4}");
    const names = ["eth2", "Ethernet2", "et2", "ETHERNET2", "Ethernet1/4"];
    expect(names.map((name) => naming.index(name))).toEqual([2, 2, 2, 2, 2]);
    expect(["Management0", "ma0"].map((name) => naming.index(name))).toEqual([0, 0]);
    expect(["Et0", "Et02", "Ethernet1/3", "Eth2", "e2"].map((name) => naming.index(name))).toEqual(Array(5).fill(undefined));
  });

  it("are exact: aliases and odd numbers have no index", () => {
    const naming = interfaceNaming("Gi{0}/{0-4}");
    for (const wrong of ["GigabitEthernet0/0", "gi0/0", "Gi0/4", "Gi00/0", "Gi0", "Gi0/0 ", "", "eth0", "Gi-1/0"]) {
      expect(naming.index(wrong)).toBeUndefined();
    }
    expect(interfaceNaming("ens{2}").index("ens1")).toBeUndefined();
    expect(interfaceNaming("Fa{0}/{0}").index("Fa1/0")).toBeUndefined();
  });

  it("are suggested for an alias", () => {
    expect(interfaceAlias("Gi{0}/{0-4}", "GigabitEthernet0/1", 8)).toBe("Gi0/1");
    expect(interfaceAlias("eth{0}", "Ethernet3", 8)).toBe("eth3");
    expect(interfaceAlias("eth{0}", "Ethernet9", 8)).toBeUndefined();
    expect(interfaceAlias("eth{0}", "lo", 8)).toBeUndefined();
  });
});
