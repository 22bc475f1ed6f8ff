import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { EmbeddedService } from "./embedded-service.ts";
import { eventually } from "./eventually.ts";
import { noteLabs } from "./machine.ts";

/** The machine goes down and comes up again, as far as the service can see it: no process, no namespace, no run directory. */

/** A hang, not a busy machine. */
const hangs = { timeout: 300_000 };
let service: EmbeddedService;
beforeEach(async () => {
  service = await EmbeddedService.make();
  await service.start();
});
afterEach(() => service[Symbol.asyncDispose]());

/** @param signal how the service ends first: by SIGTERM, or killed with everything else */
async function reboot(meanwhile: () => Promise<unknown> = async () => {}): Promise<void> {
  await service.end("SIGKILL");
  await noteLabs(service.labs, service.stateDir, service.runDir);
  await service.endLabs();
  await rm(service.runDir, { recursive: true, force: true });
  await meanwhile();
  await service.start();
}

const yaml = (name: string, more = "") => `name: ${name}
nodes:
  a: {template: linux${more}}
  b: {template: linux}
  c: {template: linux}
  s: {template: switch}
links:
  - endpoints: ["a:eth0", "b:eth0"]
    quality: {a: {delay: 15}}
  - endpoints: ["a:eth1", "c:eth0"]
    suspended: true
  - ["b:eth1", "s:eth0"]
`;

async function powers(lab: string): Promise<Readonly<Record<string, string>>> {
  const { live } = await service.client.getProjectStatus({ lab });
  return Object.fromEntries((live?.nodes ?? []).map(({ name, status }) => [name, status]));
}

async function become(lab: string, wanted: Readonly<Record<string, string>>): Promise<void> {
  let seen: unknown;
  await eventually(
    `${lab} is as it was`,
    async () => {
      seen = await powers(lab);
      return JSON.stringify(seen) === JSON.stringify(wanted);
    },
    () => `${JSON.stringify(seen)}\n${service.log}`,
  );
}

test(
  "labs that resume come back with power, links, quality and suspends; others stay stopped, and say why and how they come back",
  hangs,
  async () => {
    const { client } = service;
    for (const name of ["mine", "other"]) await client.deployProject({ yaml: yaml(name) });
    await client.execProject({ lab: "/mine", action: "stop", node: "c" });
    expect(await client.setLabResume({ lab: "/mine", resume: "always" })).toEqual({ lab: "/mine", resume: "always", own: true });
    await client.applyLinkQuality({ lab: "/mine", endpoints: ["a:eth0", "b:eth0"], a: { delay: 15 }, b: { delay: 9 }, save: true });
    const heard: { readonly id: string; readonly lab?: string; readonly data?: unknown }[] = [];
    for await (const event of await client.events({ types: "lab" })) {
      heard.push(event);
      break;
    }

    await reboot();

    await become("/mine", { a: "running", b: "running", c: "stopped", s: "running" });
    const { live, resume, last_job } = await service.client.getProjectStatus({ lab: "/mine" });
    expect(resume).toEqual({ policy: "always" });
    expect(last_job).toMatchObject({ operation: "resumeLab", outcome: "finished" });
    expect(live?.netem).toEqual([
      expect.objectContaining({ a: expect.objectContaining({ delay: 15 }), b: expect.objectContaining({ delay: 9 }) }),
    ]);
    const { links } = await service.client.inspectProject({ lab: "/mine", refresh: true });
    expect(links.find(({ key }) => key.includes("c:eth0"))?.suspended).toBe(true);
    expect((await service.client.execConsole({ lab: "/mine", node: "a", command: "cat /sys/class/net/eth0/carrier" })).output).toBe("1");

    // The other one waits.
    expect(await powers("/other")).toEqual({ a: "stopped", b: "stopped", c: "stopped", s: "stopped" });
    const waiting = { policy: "never", waiting: ["a", "b", "c", "s"], reason: "host_restart" };
    expect((await service.client.getProjectStatus({ lab: "/other" })).resume).toEqual(waiting);
    const { labs } = await service.client.listLabs();
    expect(labs.map(({ lab, resume: state }) => [lab, state])).toEqual([
      ["/mine", { policy: "always" }],
      ["/other", waiting],
    ]);
    const seen: unknown[] = [];
    for await (const event of await service.client.events({ types: "lab", after: heard[0]!.id })) {
      if (event.type === "lab" && event.data !== undefined && "resume" in (event.data as object)) seen.push([event.lab, event.data]);
      if (seen.length === 3) break;
    }
    expect(seen).toHaveLength(3);
    for (const one of [
      ["/other", { resume: "waiting", nodes: 4 }],
      ["/mine", { resume: "begins", nodes: 3 }],
      ["/mine", { resume: "done", nodes: 3 }],
    ])
      expect(seen).toContainEqual(one);

    expect(await service.client.resumeLab({ lab: "/other" })).toMatchObject({ requested: 4, started: 4, failed: 0 });
    await become("/other", { a: "running", b: "running", c: "running", s: "running" });
    expect((await service.client.getProjectStatus({ lab: "/other" })).resume).toBeUndefined();
    expect((await service.client.listLabs()).labs.map(({ resume: state }) => state)).toEqual([{ policy: "always" }, undefined]);
    expect((await service.client.planProject({ yaml: yaml("other"), prune: true })).actions).toEqual([]);
    expect(await service.client.resumeLab({ lab: "/other" })).toMatchObject({ requested: 0, started: 0 });
  },
);

test("a resume that fails says why, keeps no node and no lab from coming back, and can be tried again", hangs, async () => {
  const { client } = service;
  for (const name of ["x1", "x2", "x3", "x4"]) {
    await client.deployProject({ yaml: yaml(name) });
    await client.setLabResume({ lab: `/${name}`, resume: "always" });
  }
  const { nodes, lab } = await client.inspectProject({ lab: "/x1" });
  const id = nodes.find(({ name }) => name === "b")?.id ?? "";
  const { state } = await client.reconcileProject({ lab });
  const disk = join(service.stateDir, "labs", (state as { readonly lab: { readonly id: string } }).lab.id, "nodes", id);

  // No node can have its disk there.
  await reboot(async () => {
    await rm(disk, { recursive: true, force: true });
    await writeFile(disk, "");
  });

  for (const name of ["x2", "x3", "x4"]) await become(`/${name}`, { a: "running", b: "running", c: "running", s: "running" });
  await become("/x1", { a: "running", b: "failed", c: "running", s: "running" });
  await eventually(
    "the resume of /x1 has ended",
    async () => (await service.client.getProjectStatus({ lab: "/x1" })).operation === undefined,
    () => service.log,
  );
  const { resume } = await service.client.getProjectStatus({ lab: "/x1" });
  expect(resume).toMatchObject({ policy: "always", waiting: ["b"], reason: "host_restart", error: { code: "host_error" } });
  expect(resume?.error?.error).toMatch(/^1 of 4 nodes did not come back: b; .*(Not a directory|ENOTDIR)/);
  await expect(service.client.resumeLab({ lab: "/x1" })).rejects.toMatchObject({ code: "host_error" });

  await rm(disk);
  expect(await service.client.resumeLab({ lab: "/x1" })).toMatchObject({ requested: 1, started: 1 });
  await become("/x1", { a: "running", b: "running", c: "running", s: "running" });
  expect((await service.client.getProjectStatus({ lab: "/x1" })).resume).toEqual({ policy: "always" });
});

test("a virtual machine that was hibernated before the machine went down goes on from there", hangs, async () => {
  const vm = "name: vm\nnodes:\n  v: {template: vm}\n";
  const { client } = service;
  await client.deployProject({ yaml: vm });
  const says = (command: string, wanted: string) =>
    eventually(
      `the guest says ${wanted}`,
      async () => {
        const { live } = await service.client.getProjectStatus({ lab: "/vm" });
        if (live?.nodes?.[0]?.ready !== true) return false;
        return (await service.client.execConsole({ lab: "/vm", node: "v", command, timeout_ms: 60_000 })).output?.includes(wanted);
      },
      () => service.log,
      200_000,
    );
  // In memory, where no boot leaves it.
  await says("mkdir -p /memory; mount -t tmpfs none /memory; echo remembered > /memory/word; cat /memory/word", "remembered");
  await client.execProject({ lab: "/vm", action: "stop", stopmode: 2 });
  expect(await powers("/vm")).toEqual({ v: "suspended" });

  await reboot();

  expect(await powers("/vm")).toEqual({ v: "suspended" });
  expect(await service.client.execProject({ lab: "/vm", action: "start" })).toMatchObject({ started: 1, failed: 0 });
  await become("/vm", { v: "running" });
  await says("cat /memory/word", "remembered");
});
