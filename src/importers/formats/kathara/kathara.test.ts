import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { readIntent } from "../../../intent/read/read.ts";
import { sample } from "../../samples.fixture.ts";
import { imported } from "../../testing.fixture.ts";
import { ifconfigAsIp } from "./device-files.ts";

test("devices, collision domains, settings, startup files and the order of lab.dep become a lab", () => {
  const lab = imported(sample("kathara/projects/two-as"), { substitute: "frr" });
  const { lab: read } = readIntent(lab.yaml, lab.files);
  expect([lab.format, lab.diagnostics, read?.name]).toEqual(["kathara", [], "two-as"]);
  const node = (key: string) => read?.nodes.find((each) => each.key === key);
  expect(node("r1")?.startupConfig).toMatch(/^hostname r1\n!\nrouter bgp 1\n/);
  expect(node("r1")?.files?.["/root/r1.startup"]?.text).toContain("# systemctl start frr\n");
  expect(node("r2")?.ram).toBe(128);
  expect(node("pc1")).toMatchObject({
    template: "linux",
    env: { MODE: "test" },
    startupConfig: expect.stringContaining("ip address add 10.0.1.10/24"),
  });
  expect(node("pc2")?.ports).toEqual(["42190:80"]);
  expect(read?.boots?.find((boot) => boot.node === "pc2")?.dependsOn.map((one) => one.node)).toEqual(["r1", "r2"]);
  expect(read?.links.map(({ key }) => key)).toEqual([
    "B -- mon:eth0",
    "B -- r1:eth1",
    "B -- r2:eth1",
    "internet -- mon:eth1",
    "pc1:eth0 -- r1:eth0",
    "pc2:eth0 -- r2:eth0",
  ]);
  expect(lab.report.find(({ path }) => path === "/r2/0")).toMatchObject({
    level: "mapped",
    line: 11,
    message: expect.stringContaining("MAC address"),
  });
  expect(lab.report.find(({ file }) => file === "r1/etc/frr/daemons")?.level).toBe("dropped");
});

test("configurations of Quagga's daemons become one of FRR, without passwords and log files", () => {
  const lab = imported(sample("kathara/projects/quagga"));
  expect(lab.diagnostics).toEqual([]);
  expect(lab.files["configs/r1.conf"]).toBe("hostname ospfd\nrouter ospf\n network 10.0.0.0/8 area 0.0.0.0\n!\nhostname zebra\n");
  expect(lab.files["r1.startup"]).toContain("# /etc/init.d/zebra start");
});

test("files of a device and of all devices are files of the nodes", () => {
  const { lab } = readIntent(imported(sample("kathara/projects/web")).yaml, imported(sample("kathara/projects/web")).files);
  const server = lab?.nodes.find(({ key }) => key === "server");
  expect(Object.keys(server?.files ?? {})).toEqual(["/etc/motd.lab", "/var/www/html/index.html"]);
  expect(server?.exec).toEqual(["echo ready > /tmp/ready || true", 'sysctl -w net.ipv4.ip_forward="1"']);
});

test("a line that is none of Kathara's is reported with its number, and a file without devices is refused", () => {
  const { report } = imported({ "lab.conf": 'pc1[0]="A"\npc2 [0]\n' });
  expect(report.find(({ line }) => line === 2)).toMatchObject({ level: "dropped", message: "the line is not DEVICE[ARGUMENT]=VALUE" });
  expect(() => imported({ "lab.conf": "LAB_NAME=x\n" }, { format: "kathara" })).toThrow(
    "lab.conf: no line has the form DEVICE[ARGUMENT]=VALUE",
  );
});

test("a startup file does not end the boot, and its ifconfig is written with ip", () => {
  const { files, yaml } = imported({
    "lab.conf": "pc1[0]=A\nr1[0]=A\nr1[image]=kathara/frr\n",
    "pc1.startup": "ifconfig eth0 10.0.3.2/24 up\nfalse\n",
    "r1.startup": "ip addr add 10.0.3.1/24 dev eth0\n",
  });
  const head = "# As in Kathara, the node boots also if a command fails.\ntrap 'exit 0' EXIT\n";
  expect(files["pc1.startup"]).toBe(`${head}ip addr add 10.0.3.2/24 dev eth0\nip link set eth0 up\nfalse\n`);
  expect(files["r1.startup"]).toBe(`${head}ip addr add 10.0.3.1/24 dev eth0\n`);
  expect(yaml).toContain("sh /root/r1.startup || true");
  expect(execFileSync("sh", ["-c", `${head}ls /none 2> /dev/null\nfalse`], { encoding: "utf8" })).toBe("");
  expect(ifconfigAsIp("  /sbin/ifconfig eth1 10.0.3.2 netmask 255.255.252.0 broadcast 10.0.3.255 up # LAN")).toBe(
    "  ip addr add 10.0.3.2/22 dev eth1 # LAN\n  ip link set eth1 up",
  );
  for (const line of ["ifconfig eth0 up", "ifconfig eth0 10.0.3.2 up", "ifconfig eth0 10.0.3.2/24 up && ping x", "echo ifconfig"])
    expect(ifconfigAsIp(line)).toBe(line);
});
