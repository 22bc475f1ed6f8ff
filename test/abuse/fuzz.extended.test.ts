import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { seedOf } from "../seed.ts";
import { call, destroyLabs, type FuzzReport, fuzz, login } from "./fuzz.ts";
import { ServiceProcess, smallHeap } from "./service-process.ts";

const seed = seedOf(process.env.LABWRIGHT_SEED);
/** A share of the 200,000 of `npm run fuzz`. */
const requests = Number(process.env.LABWRIGHT_FUZZ_REQUESTS ?? 20_000);
/** A busy machine sends fewer requests instead of taking longer, but always as many as reach into the operations. */
const limitMs = 15_000;
const least = Math.min(requests, 10_000);

const mib = 2 ** 20;

/** Descriptors of two threads: one waits for large intents, soon after the start; one tries regular expressions, and stays once a dialogue needed it. */
const threads = 2 * 5;

describe(`fuzzing the whole contract, seed ${seed}`, () => {
  let service: ServiceProcess;
  let fdsBefore: number;
  let report: FuzzReport;

  beforeAll(async () => {
    service = await ServiceProcess.start({ nodeOptions: smallHeap });
    // Descriptors opened by the first request stay open.
    await login(service);
    await call(service, "GET", "/health");
    fdsBefore = await settledFds(service);
    report = await fuzz(service, { seed, requests, limitMs, least });
  });
  afterAll(() => service[Symbol.asyncDispose]());

  test("every answer is one that the contract allows", () => {
    expect(report.failures).toEqual([]);
    expect(report.sent).toBeGreaterThan(least * 0.95);
  });

  test("the requests reach into the operations", () => {
    if (requests < 10_000) return;
    const codes = Object.keys(report.tally);
    for (const code of ["200", "400 bad_request", "401 unauthenticated", "404 lab_not_found", "405 method_not_allowed", "409 lab_exists"]) {
      expect(codes).toContain(code);
    }
    expect(report.tally["200"]).toBeGreaterThan(report.sent / 20);
    expect(codes.length).toBeGreaterThan(15);
    const often = [
      "login",
      "planProject",
      "deployProject",
      "destroyProject",
      "reconcileProject",
      "execProject",
      "editProject",
      "attachConsole",
    ];
    // The rarest come after many requests, of which a busy machine sends fewer.
    expect(Object.keys(report.done)).toEqual(expect.arrayContaining(often.slice(0, report.sent < 15_000 ? 3 : undefined)));
  });

  test("memory does not grow over the second half", () => {
    const { rss } = report;
    const quarter = Math.floor(rss.length / 4);
    // The minimum of each quarter, so that garbage does not count.
    const third = Math.min(...rss.slice(2 * quarter, 3 * quarter));
    const last = Math.min(...rss.slice(3 * quarter));
    expect(Math.round((last - third) / mib)).toBeLessThan(64);
    expect(Math.round(Math.max(...rss) / mib)).toBeLessThan(1_024);
  });

  test("it still works, and gives back every file descriptor", { timeout: 120_000 }, async () => {
    expect(service.alive).toBe(true);
    const token = await loginAgain(service, report);
    await destroyLabs(service, token, () => true);
    const { json } = await call(service, "GET", "/api/v1/labs", token);
    expect(json).toEqual({ ok: true, data: { labs: [] } });
    // Threads without work have descriptors of their own, and end after 20 s.
    await expect.poll(() => service.fds(), { timeout: 60_000 }).toBeLessThanOrEqual(fdsBefore + threads);
  });

  test("its log holds no secret and no defect", async () => {
    const log = await service.log();
    expect(log.length).toBeGreaterThan(report.sent);
    const defects = log.split("\n").filter((line) => line !== "" && (!line.startsWith("{") || /"level":(?:50|60)\b|"internal"/.test(line)));
    expect(defects).toEqual([]);
    for (const secret of report.secrets) expect(log.includes(secret), "a secret in the log").toBe(false);
  });
});

/** The count when it has stood still for a while: connections of before are closed. */
async function settledFds(service: ServiceProcess): Promise<number> {
  let [fds, same] = [service.fds(), 0];
  while (same < 10) {
    await wait(50);
    const now = service.fds();
    same = now === fds ? same + 1 : 0;
    fds = now;
  }
  return fds;
}

/** Guessed passwords may make the next login wait: a token from before goes on. */
async function loginAgain(service: ServiceProcess, report: FuzzReport): Promise<string> {
  const [, token = ""] = report.secrets;
  expect((await call(service, "GET", "/api/v1/session", token)).json).toMatchObject({ ok: true, data: { username: "admin" } });
  return token;
}
