import { expect, test } from "vitest";
import { parse } from "yaml";
import { inventoryText } from "./formats.ts";
import { inventoryNodes } from "./inventory-node.ts";

const node = (name: string, more: object) => ({
  id: name,
  node: name,
  unique_key: name,
  name,
  template: "linux",
  type: "linux",
  status: "running",
  cpu: 0,
  ram: 0,
  position: { x: 0, y: 0 },
  console: { type: "telnet" },
  interfaces: [],
  ...more,
});
const eth0 = (addresses: readonly string[], peer: string) => ({
  name: "eth0",
  index: 0,
  type: "ethernet",
  suspended: false,
  addresses,
  peer,
});
const data = {
  lab: "/class/net",
  nodes: [
    node("r10", { template: "frr", ports: ["0.0.0.0:2210:22"], interfaces: [eth0(["10.0.0.10/24", "fe80::1/64"], "r2:eth0")] }),
    node("r2", {
      template: "frr",
      labels: { site: "north" },
      ports: ["2202:22", "9102:9100"],
      interfaces: [eth0(["10.0.0.2/24", "2001:db8::2/64"], "r10:eth0")],
    }),
    node("h1", { ports: ["[2001:db8::5]:8080:80"] }),
    node("off", { status: "stopped", ports: ["2299:22"] }),
  ],
};
const nodes = inventoryNodes(data as never, { address: "192.0.2.9", isHere: true });
/** Only published ports lead to nodes. */
const portsOnly = { lab: "/class/net", hasPrograms: false };
const means = { lab: "/50% of $(id)/it's", identity: "/home/ann/100% mine", hasPrograms: true };

test("Ansible gets a group for each template, with the address and port of each SSH server", () => {
  expect(parse(inventoryText("ansible", nodes, portsOnly))).toEqual({
    all: {
      vars: { ansible_user: "root", ansible_ssh_common_args: expect.stringContaining("UserKnownHostsFile=/dev/null") },
      children: {
        frr: {
          hosts: {
            r2: { ansible_host: "127.0.0.1", ansible_port: 2202, labels: { site: "north" } },
            r10: { ansible_host: "192.0.2.9", ansible_port: 2210 },
          },
        },
      },
    },
  });
});

test("nodes with a name of Ansible's own or of a group are named with their lab", () => {
  const names = ["all", "frr", "localhost", "ungrouped", "_meta", "h1"];
  const named = names.map((name) => node(name, { template: name === "h1" ? "all" : "frr", ports: ["2201:22"] }));
  const { children } = parse(
    inventoryText("ansible", inventoryNodes({ lab: "/net", nodes: named } as never, { address: "::1", isHere: true }), portsOnly),
  ).all;
  expect(Object.keys(children).sort()).toEqual(["frr", "template_all"]);
  expect(Object.keys(children.frr.hosts).sort()).toEqual(["_meta.net", "all.net", "frr.net", "localhost.net", "ungrouped.net"]);
  expect(children.frr.hosts["all.net"]).toMatchObject({ ansible_host: "127.0.0.1", ansible_port: 2201 });
  expect(Object.keys(children.template_all.hosts)).toEqual(["h1"]);
});

test("Nornir, pyATS and SSH get the same nodes", () => {
  expect(parse(inventoryText("nornir", nodes, portsOnly))).toMatchObject({
    r2: { hostname: "127.0.0.1", port: 2202, platform: "linux" },
    r10: {},
  });
  const testbed = parse(inventoryText("pyats", nodes, portsOnly));
  expect(testbed.testbed).toEqual({ name: "net" });
  expect(testbed.devices.r2.connections.cli).toMatchObject({ protocol: "ssh", ip: "127.0.0.1", port: 2202 });
  expect(testbed.topology.r2.interfaces.eth0).toEqual({
    type: "ethernet",
    link: "r10:eth0 -- r2:eth0",
    ipv4: "10.0.0.2/24",
    ipv6: "2001:db8::2/64",
  });
  expect(testbed.topology.r10.interfaces.eth0).toEqual({ type: "ethernet", link: "r10:eth0 -- r2:eth0", ipv4: "10.0.0.10/24" });
  expect(inventoryText("ssh-config", nodes, portsOnly).match(/^Host .*/gm)).toEqual(["Host r2.net", "Host r10.net"]);
});

test("hosts has the addresses inside the lab, prometheus the published ports without SSH", () => {
  expect(inventoryText("hosts", nodes, portsOnly)).toBe("10.0.0.2 r2.net r2\n2001:db8::2 r2.net r2\n10.0.0.10 r10.net r10\n");
  expect(JSON.parse(inventoryText("prometheus", nodes, portsOnly))).toEqual([
    { targets: ["[2001:db8::5]:8080"], labels: { lab: "net", node: "h1", template: "linux", node_port: "80" } },
    { targets: ["127.0.0.1:9102"], labels: { lab: "net", node: "r2", template: "frr", node_port: "9100" } },
  ]);
});

test("prometheus leaves out the published SSH port also of a node that SSH reaches by its management address", () => {
  const managed = nodes.map((node) => ({ ...node, management: "172.20.20.2", ssh: true }));
  expect(inventoryText("prometheus", managed, portsOnly)).toBe(inventoryText("prometheus", nodes, portsOnly));
});

test("nodes without a published port 22 are reached through labwright ssh, with the given key", () => {
  const { linux } = parse(inventoryText("ansible", nodes, means)).all.children;
  expect(Object.keys(linux.hosts)).toEqual(["h1"]);
  expect(linux.hosts.h1).toEqual({
    ansible_host: "h1.net",
    ansible_ssh_timeout: 60,
    ansible_ssh_common_args: expect.stringMatching(/ -o 'ProxyCommand=.* ssh .*--proxy .* -- h1'$/),
    ansible_ssh_private_key_file: means.identity,
  });
  expect(parse(inventoryText("nornir", nodes, means)).h1).toMatchObject({ hostname: "h1.net", username: "root" });
  expect(parse(inventoryText("pyats", nodes, means)).devices.h1.connections.cli.command).toMatch(/ shell .* h1$/);
  const [h1 = "", r2 = ""] = inventoryText("ssh-config", nodes, means).split(/(?=^Host )/m);
  expect(h1).toMatch(/^Host h1\.net\n {2}ProxyCommand .* '--lab=\/50%% of \$\(id\)\/it'\\''s' --proxy .* -- h1\n/);
  expect(h1).toContain('IdentityFile "/home/ann/100%% mine"\n  IdentitiesOnly yes\n');
  expect(r2).toContain("HostName 127.0.0.1\n  Port 2202\n  User root\n");
});

test("no agent is forwarded to a node, by a port or through the service: its root may be another user", () => {
  const blocks = inventoryText("ssh-config", nodes, means).match(/^Host [\s\S]*?(?=^Host |$(?![\s\S]))/gm);
  expect(blocks).toHaveLength(3);
  for (const block of blocks ?? []) expect(block).toContain("ForwardAgent no\n");
  const { vars, children } = parse(inventoryText("ansible", nodes, means)).all;
  expect(vars.ansible_ssh_common_args).toContain("-o ForwardAgent=no");
  expect(children.linux.hosts.h1.ansible_ssh_common_args).toContain("-o ForwardAgent=no");
});

test("SSH leads to the management address of a node with an SSH server, on the machine of the service; hosts has the names of all", () => {
  const managed = {
    lab: "/net",
    nodes: [
      node("h1", { management: "198.18.7.2/24", ssh: true, ports: ["2201:22"], interfaces: [eth0(["10.0.0.1/24"], "h2:eth0")] }),
      node("h2", { management: "198.18.7.3/24", management_ipv6: "fd00::3/64" }),
      node("x google.com", { management: "198.18.7.4/24" }),
    ],
  };
  const here = inventoryNodes(managed as never, { address: "127.0.0.1", isHere: true });
  expect(inventoryText("ssh-config", here, portsOnly)).toContain("HostName 198.18.7.2\n  Port 22\n");
  expect(inventoryText("ssh-config", here, means)).toMatch(/Host h2\.net\n {2}ProxyCommand/);
  expect(inventoryText("hosts", here, means)).toBe("198.18.7.2 h1.net\n198.18.7.3 h2.net\nfd00::3 h2.net\n");
  const far = inventoryNodes(managed as never, { address: "192.0.2.9", isHere: false });
  expect(inventoryText("ssh-config", far, portsOnly)).toContain("HostName 127.0.0.1\n  Port 2201\n");
  expect(inventoryText("hosts", far, means)).toBe("10.0.0.1 h1.net h1\n");
});

test("a virtual machine is reached by its own SSH server, as the user of its label, and never through labwright ssh", () => {
  const machines = {
    lab: "/net",
    nodes: [
      node("d1", { type: "qemu", template: "qemu", management: "198.18.7.2/24", labels: { "ssh-user": "debian" } }),
      node("d2", { type: "qemu", template: "qemu", ports: ["2202:22"], labels: { "ssh-user": "x\n ProxyCommand id" } }),
      node("d3", { type: "qemu", template: "qemu" }),
    ],
  };
  const here = inventoryNodes(machines as never, { address: "127.0.0.1", isHere: true });
  const config = inventoryText("ssh-config", here, means);
  expect(config).toContain("Host d1.net\n  HostName 198.18.7.2\n  Port 22\n  User debian\n");
  expect(config).toContain("Host d2.net\n  HostName 127.0.0.1\n  Port 2202\n  User root\n");
  expect(config).not.toMatch(/d3|ProxyCommand/);
  const { qemu } = parse(inventoryText("ansible", here, means)).all.children;
  expect(qemu.hosts.d1).toMatchObject({ ansible_host: "198.18.7.2", ansible_user: "debian" });
  expect(parse(inventoryText("nornir", here, means)).d1).toMatchObject({ hostname: "198.18.7.2", username: "debian" });
  expect(parse(inventoryText("pyats", here, means)).devices.d1.credentials).toEqual({ default: { username: "debian" } });
  expect(inventoryText("hosts", here, means)).toBe("198.18.7.2 d1.net\n");
  const far = inventoryNodes(machines as never, { address: "192.0.2.9", isHere: false });
  expect(inventoryText("ssh-config", far, means)).not.toContain("d1.net");
});

test("switches, and names with line breaks, which would be settings of ssh, are left out", () => {
  const others = { lab: "/net", nodes: [node("s1", { template: "switch" }), node("r1\n  LocalCommand id", {})] };
  expect(inventoryText("ssh-config", inventoryNodes(others as never, { address: "::1", isHere: true }), means)).toBe("\n");
});

test("a label of another user's lab is no template for Ansible", () => {
  const labelled = { lab: "/net", nodes: [node("r1", { ports: ["2201:22"], labels: { note: "{{ lookup('pipe', 'id') }}" } })] };
  const text = inventoryText("ansible", inventoryNodes(labelled as never, { address: "::1", isHere: true }), portsOnly);
  expect(text).toContain(`note: !unsafe "{{ lookup('pipe', 'id') }}"`);
});

test("ports and management addresses of another machine of a fleet are left out, and labwright ssh leads there", () => {
  const ports = ["2201:22", "0.0.0.0:2202:22", "[::1]:2203:22"];
  const spread = {
    lab: "/net",
    machine: "alpha",
    nodes: [
      node("h1", { ports, management: "198.18.7.2/24" }),
      node("h2", { ports, management: "198.18.7.3/24", machine: "beta" }),
      node("h3", { ports: ["192.0.2.7:2204:22"], machine: "beta" }),
    ],
  };
  const seenBy = (machine?: string) => inventoryNodes(spread as never, { address: "10.0.0.1", isHere: true, machine });
  const shown = (machine?: string) => seenBy(machine).map(({ ports, management, elsewhere }) => [ports.length, management, elsewhere]);
  expect(shown("alpha")).toEqual([
    [3, "198.18.7.2", undefined],
    [0, undefined, "beta"],
    [1, undefined, "beta"],
  ]);
  expect(shown("beta")).toEqual([
    [0, undefined, "alpha"],
    [3, "198.18.7.3", undefined],
    [1, undefined, undefined],
  ]);
  // A service that does not name itself has no fleet.
  expect(shown().map(([count]) => count)).toEqual([3, 3, 1]);
  const { hosts } = parse(inventoryText("ansible", seenBy("alpha"), means)).all.children.linux;
  expect(hosts.h1).toMatchObject({ ansible_host: "127.0.0.1", ansible_port: 2201 });
  expect(hosts.h2).toMatchObject({ ansible_host: "h2.net", ansible_ssh_common_args: expect.stringContaining("--proxy") });
  expect(hosts.h3).toMatchObject({ ansible_host: "192.0.2.7", ansible_port: 2204 });
});
