import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { EmbeddedService } from "./embedded-service.ts";
import { eventually } from "./eventually.ts";

/** The service gets SIGTERM while changes run. */

/** A hang, not a busy machine. */
const hangs = { timeout: 300_000 };
let service: EmbeddedService;
beforeEach(async () => {
  service = await EmbeddedService.make();
  await service.start();
});
afterEach(() => service[Symbol.asyncDispose]());

async function outcomeOf(job: string): Promise<string> {
  return eventually(
    "the job ends",
    async () => (await service.client.getJob({ id: job })).outcome,
    () => service.log,
  );
}

test("a service that gets SIGTERM lets its changes end, or finishes them after its next start", hangs, async () => {
  const names = ["e1", "e2", "e3"];
  const yaml = (name: string) => `name: ${name}\nnodes: {a: {template: linux}, b: {template: linux}}\nlinks: [["a:eth0", "b:eth0"]]\n`;
  const jobs = await Promise.all(names.map((name) => service.client.startJob("deployProject", { yaml: yaml(name) })));
  expect(await service.end("SIGTERM")).toBe(0);
  await service.start();
  for (const { job } of jobs) expect(["finished", "finished_after_restart", "rolled_back"]).toContain(await outcomeOf(job));
  const { labs } = await service.client.listLabs();
  for (const { lab, name } of labs) {
    expect((await service.client.planProject({ yaml: yaml(name), prune: true })).actions, lab).toEqual([]);
    const status = async () => (await service.client.getProjectStatus({ lab })).live?.nodes?.map((node) => node.status);
    await expect.poll(status).toEqual(["running", "running"]);
  }
});

test(
  "a second SIGTERM ends the service at once; the change under way goes on after the next start, while the service answers",
  hangs,
  async () => {
    await service.client.deployProject({ yaml: "name: slow\nnodes: {a: {template: linux}}\n" });
    const lab = "/slow";
    // A process that ignores SIGTERM keeps the stop waiting for its whole grace period.
    await service.client.execConsole({ lab, node: "a", command: "(trap '' TERM; while :; do sleep 1; done) &" });
    const { job } = await service.client.startJob("execProject", { lab, action: "stop", stopmode: 3 });
    await eventually(
      "the stop is under way",
      async () => (await service.client.getJob({ id: job })).steps > 0,
      () => service.log,
    );
    // The kernel merges two pending signals of one kind, so the signal is repeated until the busy process has received it twice.
    let over = false;
    const ended = service.end("SIGTERM").finally(() => {
      over = true;
    });
    for (; !over; await delay(100)) service.signal("SIGTERM");
    expect(await ended).toBe(1);
    await service.start();
    expect(await outcomeOf(job)).toBe("finished_after_restart");
    expect((await service.client.getProjectStatus({ lab })).live?.nodes?.map(({ status }) => status)).toEqual(["stopped"]);
  },
);
