import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runOnMachine } from "../machine/machine.ts";
import { eventually, labOf, type TestLocalHost, testLocalHost } from "../testing/test-local-host.fixture.ts";
import { managementWorks } from "./management.ts";

/** A virtual machine in a management network: one lab, booted once. Each test continues from the state that the previous test left. */

const at = "/machines";
const hang = 300_000;
const yaml = (management: string, v1 = "") => `
name: machines
${management === "" ? "" : `management: ${management}`}
nodes:
  v1: {template: vm, exec: [mkdir -p /www, echo from the guest > /www/index.html, httpd -h /www]${v1}}
  h1: {template: linux, exec: [ip addr add 10.0.0.2/24 dev eth0]}
links: [["v1:eth0", "h1:eth0"]]
`;
/** Networks of documentation: a machine that runs tests has no route to them. */
const [first, second] = ["198.51.100", "203.0.113"] as const;
const network = (start: string) => `{ipv4-subnet: ${start}.0/24, ipv6-subnet: "2001:db8:5::/64"}`;

describe.skipIf(!(await managementWorks()))("a virtual machine in a management network", () => {
  let local: TestLocalHost;
  beforeAll(async () => {
    local = await testLocalHost({ stopGrace: { graceful: hang, machine: hang } });
    await local.deploy(at, labOf(yaml(network(first), `, mgmt-ipv4: ${first}.9`)));
  }, hang);
  afterAll(() => local[Symbol.asyncDispose](), hang);

  const addresses = async () => (await local.session.addresses?.(at))?.get(local.ids(at).nodes["v1"] ?? "")?.get("mgmt0");
  const answers = (address: string) =>
    eventually(
      `${address} answers`,
      hang,
      async () => (await runOnMachine(["busybox", "ping", "-c", "1", "-W", "2", address])).code,
      (code) => code === 0,
    );

  test(
    "gets its addresses by DHCP and from its config drive, and the machine and other nodes reach it",
    async () => {
      // A node has addresses once its boot has ended.
      const found = await eventually("the node has addresses", hang, addresses, (some) => some !== undefined);
      expect(found).toEqual([`${first}.9/24`, expect.stringMatching(/^2001:db8:5::.*\/64$/)]);
      await answers(`${first}.9`);
      await answers(found![1]!.replace(/\/.*/, ""));
      expect((await local.exec(at, "h1", "ping", "-c", "1", "-W", "5", "v1.machines")).code).toBe(0);
    },
    hang,
  );

  test(
    "publishes a port through its management address",
    async () => {
      await local.deploy(at, labOf(yaml(network(first), `, mgmt-ipv4: ${first}.9, ports: ["42931:80"]`)));
      await eventually(
        "the guest's web server answers on the machine",
        hang,
        () =>
          fetch("http://127.0.0.1:42931/").then(
            (answer) => answer.text(),
            (error) => String(error),
          ),
        (text) => text.includes("from the guest"),
      );
    },
    hang,
  );

  test(
    "gets another address while it runs",
    async () => {
      await local.deploy(at, labOf(yaml(network(second))));
      const address = (await addresses())![0]!.replace(/\/.*/, "");
      expect(address).toMatch(/^203\.0\.113\./);
      await answers(address);
    },
    hang,
  );

  test(
    "loses its interface with the network, and gets it back with another network, while it runs",
    async () => {
      await local.deploy(at, labOf(yaml("")));
      expect(await addresses()).toBeUndefined();
      await local.deploy(at, labOf(yaml("true")));
      await answers((await addresses())![0]!.replace(/\/.*/, ""));
    },
    hang,
  );
});
