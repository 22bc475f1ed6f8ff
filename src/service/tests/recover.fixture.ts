import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect } from "vitest";
import { type Bench, type Client, createBench, three, until } from "../service.fixture.ts";

const benches: Bench[] = [];
const folders: string[] = [];

/** Makes a service that ends after the test. */
export function bench(options: Parameters<typeof createBench>[0] = {}): Bench {
  const made = createBench(options);
  benches.push(made);
  return made;
}

/** Makes a directory that is removed after the test. */
export function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "service-store-"));
  folders.push(made);
  return made;
}

/** Ends the services of each test of a file. */
export function endBenches(): void {
  afterEach(async () => {
    for (const { host, store } of benches.splice(0)) {
      await host.close();
      await store.close();
    }
    for (const made of folders.splice(0)) rmSync(made, { recursive: true });
  });
}

export const wanted = three.replace("r1: {template: frr}", "r1: {template: frr, env: {A: b}}");

/**
 * Begins a change and lets the service die after `after` steps: its host never answers again, and nothing it does later reaches the
 * journal. Answers the service that starts next on the same host and store, recovered; undefined when the change had fewer steps.
 */
export async function crash(made: Bench, after: number, change: (client: Client) => Promise<unknown>): Promise<Bench | undefined> {
  const client = await made.login();
  let steps = 0;
  let dead = false;
  made.step = () => {
    if (steps === after) {
      dead = true;
      return new Promise<void>(() => {});
    }
    steps += 1;
  };
  let ended = false;
  change(client).then(
    () => {
      ended = true;
    },
    () => {
      ended = true;
    },
  );
  await until(() => dead || ended);
  made.step = () => {};
  if (ended) return undefined;
  const next = made.restart();
  await next.service.recover();
  return next;
}

export async function powers(client: Client): Promise<Record<string, string>> {
  const { nodes } = await client.call("inspectProject", { lab: "/pair", refresh: true });
  return Object.fromEntries(nodes.map(({ node, name, status }) => [node ?? name, status]));
}

/** Crashes after 0, 1, 2 … steps until the change gets through, and checks each time. Answers how many crashes there were. */
export async function atEveryStep(
  prepare: (client: Client) => Promise<unknown>,
  change: (client: Client) => Promise<unknown>,
  check: (next: Bench, client: Client) => Promise<void>,
): Promise<number> {
  for (let after = 0; ; after += 1) {
    const made = bench();
    await prepare(await made.login());
    const next = await crash(made, after, change);
    if (next === undefined) return after;
    const [job] = [await next.store.jobs.lastOf("/pair")];
    expect(job, `after ${after} steps`).toMatchObject({ status: "done", outcome: "finished_after_restart" });
    expect(await next.store.jobs.unfinished()).toEqual([]);
    await check(next, await next.login());
  }
}
