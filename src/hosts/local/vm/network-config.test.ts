import { expect, test } from "vitest";
import { parse } from "yaml";
import { networkConfig } from "./network-config.ts";

test("the network configuration names the management interface and leaves the first interface to DHCP", () => {
  const { version, ethernets } = parse(networkConfig("lab", 258, ["198.18.0.7/24", "fd00::7/64"]));
  expect(version).toBe(2);
  expect(ethernets).toEqual({
    mgmt0: {
      match: { macaddress: expect.stringMatching(/^02:..:..:01:02:ff$/) },
      "set-name": "mgmt0",
      dhcp4: true,
      addresses: ["fd00::7/64"],
    },
    eth0: { match: { macaddress: expect.stringMatching(/^02:..:..:01:02:00$/) }, dhcp4: true, optional: true },
  });
});

test("without an IPv6 network, the guest gets no address but that of DHCP", () => {
  expect(networkConfig("lab", 1, ["198.18.0.7/24"])).not.toContain("addresses");
});
