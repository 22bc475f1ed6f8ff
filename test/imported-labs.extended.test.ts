import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { packagePath } from "../src/files/program-path.ts";
import { testedProgram } from "../src/files/tested-program.fixture.ts";
import { localPaths } from "../src/hosts/local/machine/paths.ts";
import { testDirectory } from "../src/hosts/local/testing/test-directory.fixture.ts";

/** Labs of other tools, from their files to a ping between their nodes on the embedded host, and out again as files of another tool. */

const program = testedProgram("cli/main");
const patience = 150_000;
let base: string;
let folder: string;

function run(...args: readonly string[]): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  const { images, holder } = localPaths(process.env, process.getuid?.() ?? 0);
  const env = {
    PATH: process.env.PATH,
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
    HOME: base,
    XDG_CONFIG_HOME: join(base, "config"),
    LABWRIGHT_STATE_DIR: join(base, "state"),
    LABWRIGHT_RUN_DIR: join(base, "run"),
    LABWRIGHT_IMAGE_DIR: images,
    LABWRIGHT_HOLDER: holder,
    LABWRIGHT_PORT: "0",
  };
  return new Promise((resolve) => {
    execFile(process.execPath, [program, ...args], { cwd: folder, env, timeout: patience }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 255), stdout, stderr });
    });
  });
}

async function done(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run(...args);
  expect(code, `labwright ${args.join(" ")}\n${stdout}${stderr}`).toBe(0);
  return stdout;
}

beforeAll(async () => {
  base = await testDirectory("imported");
  folder = join(base, "work");
  await mkdir(folder);
});
afterAll(async () => {
  const { code, stderr } = await run("down");
  expect(code, stderr).toBe(0);
  await rm(base, { recursive: true });
}, patience);

interface Sample {
  /** Below src/importers/formats. */
  readonly source: string;
  readonly from: string;
  readonly to: string;
  /** Commands of nodes before the ping: a graph has no addresses. */
  readonly before?: readonly (readonly [node: string, ...command: string[]])[];
}

/** Nodes of a lab without addresses get some, and ping each other. */
const between = (from: string, itsPort: string, other: string, otherPort: string): Omit<Sample, "source"> => ({
  from,
  to: "10.0.0.2",
  before: [
    [from, "ip", "addr", "add", "10.0.0.1/24", "dev", itsPort],
    [other, "ip", "addr", "add", "10.0.0.2/24", "dev", otherPort],
  ],
});

/** Three of each format. */
const samples: readonly Sample[] = [
  {
    source: "containerlab/samples/two-sites.clab.yml",
    from: "h1",
    to: "10.1.0.1",
    before: [["r1", "ip", "addr", "add", "10.1.0.1/24", "dev", "eth2"]],
  },
  { source: "containerlab/samples/fabric.clab.yml", ...between("leaf1", "eth1", "probe", "eth1") },
  {
    source: "containerlab/samples/outside.clab.yaml",
    from: "pc2",
    to: "192.168.1.1",
    before: [["gw", "ip", "addr", "add", "192.168.1.1/24", "dev", "eth1"]],
  },
  { source: "eve/samples/ospf-hosts.unl", from: "R1", to: "192.168.2.1" },
  { source: "eve/samples/switched.unl", from: "A", to: "10.9.0.2" },
  { source: "eve/samples/wan-serial.unl", ...between("CE1", "eth4", "CE2", "eth4") },
  { source: "cml/samples/ospf.yaml", from: "r1", to: "192.168.2.1" },
  { source: "cml/samples/labels.json", ...between("A", "eth0", "C", "eth0") },
  {
    source: "cml/samples/old.yaml",
    from: "xr",
    to: "10.1.1.1",
    before: [["xr", "ip", "addr", "add", "10.1.1.2/24", "dev", "eth3"]],
  },
  { source: "virl/samples/wan.virl", from: "hq", to: "172.20.2.1" },
  { source: "virl/samples/access.virl", ...between("user_1", "eth1", "user_2", "eth1") },
  {
    source: "virl/samples/campus.virl",
    from: "edge",
    to: "10.0.0.1",
    before: [["edge", "ip", "addr", "add", "10.0.0.2/30", "dev", "eth0"]],
  },
  { source: "gns3/projects/containers", from: "host-a", to: "10.2.0.2" },
  { source: "gns3/projects/campus", from: "R1", to: "10.0.0.2" },
  { source: "gns3/projects/old", from: "PC1", to: "10.1.1.2" },
  { source: "netlab/projects/ospf-bgp.yml", from: "h1", to: "10.255.0.2" },
  { source: "netlab/projects/lan.yml", from: "h2", to: "172.16.1.3" },
  { source: "netlab/projects/snapshot.yml", from: "r1", to: "172.16.0.3" },
  { source: "kathara/projects/two-as", from: "pc1", to: "10.0.2.10" },
  { source: "kathara/projects/quagga", from: "h1", to: "10.2.0.11" },
  { source: "kathara/projects/web", from: "client", to: "192.168.0.2" },
  { source: "graphs/projects/clos.dot", ...between("server01", "eth1", "leaf01", "eth1") },
  { source: "graphs/projects/office.dot", ...between("a", "eth1", "b", "eth1") },
  { source: "graphs/projects/wan.gv", ...between("r1", "eth3", "r2", "eth3") },
  { source: "graphs/projects/ring.mermaid", ...between("r1", "eth1", "r2", "eth1") },
  { source: "graphs/projects/office.mmd", ...between("pc1", "eth1", "pc2", "eth1") },
  { source: "graphs/projects/page.md", ...between("Core", "eth1", "Edge", "eth1") },
];

test.each(samples)(
  "$source is imported, runs with stand-ins, passes a ping and is exported",
  { timeout: 2 * patience },
  async ({ source, from, to, before = [] }) => {
    const name = source.replaceAll(/[^a-z0-9]+/g, "-");
    const file = join(folder, name, "lab.yaml");
    await mkdir(join(folder, name));
    await done(
      "import-file",
      packagePath(`src/importers/formats/${source}`),
      "--output",
      file,
      "--substitute",
      "frr",
      "--translate-configs",
    );
    await done("validate", "-t", file);
    // Not in the block: a lab that was never made cannot be destroyed, and that error would hide this one.
    await done("up", file);
    try {
      for (const [node, ...command] of before) await done("exec", "-t", file, node, "--", ...command);
      // OSPF elects a router of each network for 40 s; ping ends with the first answer.
      await done(
        "exec",
        "-t",
        file,
        from,
        "--",
        "sh",
        "-c",
        `for i in $(seq 90); do ping -c 1 -W 1 ${to} && exit 0; sleep 1; done; exit 1`,
      );
    } finally {
      await done("destroy", "-t", file, "--yes");
    }
    const target = join(folder, `${name}-again`);
    await done("export", "-t", file, "--format", "gns3", "--output", target);
    const [project = ""] = (await readdir(target)).filter((each) => each.endsWith(".gns3"));
    expect(JSON.parse(await readFile(join(target, project), "utf8")).topology.nodes.length).toBeGreaterThan(1);
  },
);
