import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tarArchive } from "../src/files/tar/tar-writer.ts";
import { testedProgram } from "../src/files/tested-program.fixture.ts";
import { busyboxLayer, configOf, dockerArchive, file } from "../src/hosts/local/containers/tests/archive.fixture.ts";
import { findImages } from "../src/hosts/local/images/images.ts";
import { type MachineName, noMachines, TestMachines } from "./machines.fixture.ts";

const lab = (name: string, image: string, more = "") => `name: ${name}
${more}
nodes:
  c1: {template: container, image: ${image}}
`;

test.skipIf(noMachines)(
  "an image that only one machine has draws a lab there; a machine without it fetches it, once for two labs, and says from where",
  { timeout: 900_000 },
  async () => {
    await using machines = await TestMachines.make(78);
    const { base } = machines;
    for (const name of ["alpha", "beta"] as const) machines.ownImages(name);
    const system = (await findImages(machines.environment("alpha").LABWRIGHT_IMAGE_DIR)).find(({ name }) => name === "base")!;
    const layers = [busyboxLayer(system.rootfs), tarArchive([file("blob", "x".repeat(20_000_000))])];
    const archive = join(base, "tool.tar");
    await writeFile(archive, dockerArchive(layers, configOf(layers, { Cmd: ["sleep", "1000"], Env: ["PATH=/usr/bin:/bin"] })));
    const image = (name: "alpha" | "beta", ...args: readonly string[]) =>
      execFileSync(process.execPath, [testedProgram("hosts/local/containers/main"), ...args], {
        env: machines.environment(name),
        encoding: "utf8",
      });
    image("beta", "add", archive, "--name", "tool:1");
    await writeFile(join(base, "any.yaml"), lab("any", "tool:1"));
    for (const one of ["one", "two"]) await writeFile(join(base, `${one}.yaml`), lab(one, "tool:1", "place: {machine: alpha}"));
    await machines.startAll();
    const run = machines.run.bind(machines);
    // With changes to make, plan ends with a code of its own.
    const planned = (at: MachineName, file: string) => run(at, "plan", "-t", file).catch((error: Error) => error.message);
    // Beta reports its images soon after it has started.
    await expect
      .poll(() => planned("alpha", "any.yaml"), { timeout: 240_000, interval: 1_000 })
      .toMatch(/Machine: beta .*has the image tool:1, which other machines lack/);
    const plan = await planned("gamma", "one.yaml");
    expect(plan).toMatch(/Image: tool:1 is fetched from machine beta \(\d+\.\d MB\)/);
    const begun = performance.now();
    const answers = await Promise.all(["one", "two"].map((name) => run("gamma", "apply", "-t", `${name}.yaml`, "--yes")));
    console.log(`two labs with the image after ${Math.round(performance.now() - begun)} ms`);
    for (const answer of answers) expect(answer).toContain("image tool:1 came from machine beta");
    for (const name of ["one", "two"]) {
      expect(await machines.machineOf("gamma", `/${name}`)).toBe("alpha");
      expect(await run("beta", "exec", "c1", "--lab", name, "--", "wc", "-c", "/blob")).toContain("20000000");
    }
    const here = JSON.parse(image("alpha", "list", "--format", "json")) as { name: string; fetched?: { machine: string } }[];
    expect(here.find(({ name }) => name === "tool:1")?.fetched).toMatchObject({ machine: "beta", by: "admin" });
    expect(
      execFileSync("ls", [join(machines.environment("alpha").LABWRIGHT_IMAGE_DIR, ".pull")], { encoding: "utf8" }).replaceAll(
        /\S+\.lock\n/g,
        "",
      ),
    ).toBe("");
  },
);
