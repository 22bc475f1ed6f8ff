import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EmbeddedService } from "./chaos/embedded-service.ts";
import { eventually } from "./chaos/eventually.ts";

/** A lab of which one node runs, and that takes a while to copy. */
const source = `name: source # kept
nodes:
  h1: {template: linux, env: {KEY: value}}
${Array.from({ length: 40 }, (_, i) => `  n${i}: {template: linux, start: false, startup-config: n.sh}\n`).join("")}networks:
  lan: {type: bridge}
links:
  - ["h1:eth0", "n0:eth0"]
${Array.from({ length: 39 }, (_, i) => `  - ["n${i}:eth1", "n${i + 1}:eth0"]\n`).join("")}  - ["n0:eth2", lan]
`;
const files = { "n.sh": "#!/bin/sh\necho here\n" };
const lab = "/source";
const manifest = "version: 1\nmode: import\nlab: /copy\n";
/** Which moment hits depends on the machine: tries until one kill has hit the middle of the change. */
const most = 12;

describe.skipIf(process.getuid?.() !== 0)("an import that is cut off by kill -9", () => {
  let service: EmbeddedService;

  beforeAll(async () => {
    service = await EmbeddedService.make();
    await service.start();
    await service.client.deployProject({ yaml: source, files });
  }, 120_000);
  afterAll(() => service?.[Symbol.asyncDispose]());

  /** The definition as it stands on the disk, by lab; that of a lab that is being made, or is half there, by its folder. */
  async function onDisk(): Promise<ReadonlyMap<string, string>> {
    const folder = join(service.stateDir, "labs");
    const found = await Promise.all(
      (await readdir(folder)).map(async (id): Promise<readonly [string, string]> => {
        const text = await readFile(join(folder, id, "lab.json"), "utf8").catch((error: NodeJS.ErrnoException) => {
          if (error.code === "ENOENT") return "";
          throw error;
        });
        return [text === "" ? id : (JSON.parse(text) as { readonly path: string }).path, text];
      }),
    );
    return new Map(found);
  }

  async function h1(): Promise<unknown> {
    const { live } = await service.client.getProjectStatus({ lab });
    const node = live?.nodes?.find(({ name }) => name === "h1");
    return { id: node?.id, status: node?.status };
  }

  test("leaves no half of a lab and its source as it was, and the next try makes the copy", { timeout: 400_000 }, async () => {
    await eventually(
      "h1 runs",
      async () => ((await h1()) as { readonly status?: string }).status === "running",
      () => service.log,
    );
    const [before, running] = [(await onDisk()).get(lab), await h1()];
    const outcomes: string[] = [];
    for (let round = 0; round < most && !outcomes.some((one) => one === "finished_after_restart" || one === "rolled_back"); round++) {
      const { job } = await service.client.startJob("importProject", { lab, manifest });
      if (round % 2 === 0)
        await eventually(
          "it is at work",
          async () => (await onDisk()).has("/copy") || (await ended(job)),
          () => service.log,
        );
      await service.end("SIGKILL");
      await service.start();

      const outcome = await eventually(
        "the change ends",
        () => ended(job),
        () => service.log,
      );
      outcomes.push(outcome);
      expect(["finished", "finished_after_restart", "rolled_back"]).toContain(outcome);
      expect((await onDisk()).get(lab)).toBe(before);
      expect(await h1()).toEqual(running);
      // The file is whole, or it does not exist.
      const there = outcome !== "rolled_back";
      expect([...(await onDisk()).keys()].sort()).toEqual(there ? ["/copy", lab] : [lab]);
      expect((await service.client.listLabs({})).labs.map((each) => each.lab)).toEqual(there ? ["/copy", lab] : [lab]);

      const again = await service.client.importProject({ lab, manifest, replace: there });
      expect(again).toMatchObject({ source_lab: lab, managed_lab: "/copy", files });
      expect(again.yaml).toContain("# kept");
      const plan = await service.client.planProject({
        yaml: again.yaml!,
        files: again.files!,
        manifest: again.manifest!,
        state: again.state,
      });
      expect(plan.actions).toEqual([]);
      const { nodes } = await service.client.inspectProject({ lab: "/copy", refresh: true });
      expect(nodes.map(({ node }) => node)).toHaveLength(41);
      expect((await onDisk()).get(lab)).toBe(before);
      await service.client.destroyProject({ lab: "/copy" });
    }
    expect(outcomes.at(-1)).toMatch(/^(finished_after_restart|rolled_back)$/);
  });

  async function ended(job: string): Promise<string | undefined> {
    return (await service.client.getJob({ id: job })).outcome;
  }
});
