import { expect, test } from "vitest";
import { withNodeConfigs } from "./pnetlab-lab.ts";

const labWith = (data: string) => ({
  nodes: [{ id: 1, interfaces: [], otherAttributes: [["config_data", data]] as const }],
  networks: [],
  textObjects: [],
  pictures: [],
  configs: [],
});

test("a startup config in an attribute of a PNETLab node is read, and a giant one is refused", () => {
  expect(withNodeConfigs(labWith(Buffer.from("ip dhcp\n").toString("base64"))).configs).toEqual([{ id: 1, text: "ip dhcp\n" }]);
  expect(() => withNodeConfigs(labWith("QUFB".repeat(600_000)))).toThrow(/2400000 characters in base64, more than/);
});
