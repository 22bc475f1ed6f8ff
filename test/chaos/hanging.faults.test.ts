import { afterEach, beforeEach, expect, test } from "vitest";
import { LabwrightError } from "../../src/client/index.ts";
import { EmbeddedService } from "./embedded-service.ts";
import { eventually } from "./eventually.ts";
import { noteLabs, processesOf } from "./machine.ts";

/** A lab's holder hangs (SIGSTOP): its lab is shown as far as it is known and can be destroyed, and other labs go on. */

/** A hang of the service, not a busy machine. */
const hangs = { timeout: 300_000 };
const lab = "/hung";
let service: EmbeddedService;
/** Of the lab that hangs. */
let holder: number;

beforeEach(async () => {
  service = await EmbeddedService.make();
  await service.start();
  await service.client.deployProject({ yaml: "name: hung\nnodes: {h1: {template: linux}, h2: {template: linux}}\n" });
  await noteLabs(service.labs, service.stateDir, service.runDir);
  holder = (await processesOf(service.labs)).find(({ role }) => role === "init")?.pid ?? 0;
  await service.client.deployProject({ yaml: "name: other\nnodes: {o1: {template: linux}}\n" });
  await noteLabs(service.labs, service.stateDir, service.runDir);
});
afterEach(async () => {
  try {
    process.kill(holder, "SIGCONT");
  } catch (error) {
    // It was to be ended.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
  await service[Symbol.asyncDispose]();
});

async function powers(of: string): Promise<readonly (string | undefined)[] | undefined> {
  const { live } = await service.client.getProjectStatus({ lab: of });
  return live?.nodes?.map(({ status }) => status);
}

/** The status of the lab that hangs has the known part, and reports the rest as unknown. */
async function isShown(): Promise<void> {
  const { name, exists, mode, live } = await service.client.getProjectStatus({ lab });
  expect({ name, exists, mode, live }).toEqual({
    name: "hung",
    exists: true,
    mode: "create",
    live: { available: false, error: { code: "host_timeout", error: expect.any(String) } },
  });
}

async function refusal(call: Promise<unknown>): Promise<LabwrightError> {
  const error = await call.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  if (!(error instanceof LabwrightError)) throw new Error(`it was not refused, but ${JSON.stringify(error)}`);
  return error;
}

async function isDestroyed(wipe: boolean): Promise<void> {
  await service.client.destroyProject({ lab, wipe });
  expect((await processesOf(service.labs)).map(({ pid }) => pid)).not.toContain(holder);
  expect((await service.client.listLabs()).labs.map((one) => one.lab)).toEqual(["/other"]);
  expect(await powers("/other")).toEqual(["running"]);
}

test(
  "status answers with what is known, a stop says what to do, a destroy ends the lab, and other labs are served meanwhile",
  hangs,
  async () => {
    process.kill(holder, "SIGSTOP");
    // Not after it: while the first look at the lab waits for its holder.
    const shown = isShown();
    expect(await powers("/other")).toEqual(["running"]);
    await shown;
    await isShown();
    const error = await refusal(service.client.execProject({ lab, action: "stop", node: "h1" }));
    expect(error.code).toBe("host_timeout");
    expect(error.message).toMatch(
      new RegExp(`holder, process ${holder}, has not answered for \\d+ s: .*destroy the lab; or end it with kill -9`),
    );
    expect((await service.client.execProject({ lab: "/other", action: "stop", stopmode: 1 })).stopped).toBe(1);
    expect((await service.client.execProject({ lab: "/other", action: "start" })).started).toBe(1);
    await isDestroyed(true);
  },
);

test("a lab whose holder goes on is as before, and nothing was written down that was not done", hangs, async () => {
  process.kill(holder, "SIGSTOP");
  expect((await refusal(service.client.execProject({ lab, action: "stop" }))).code).toBe("host_timeout");
  await isShown();
  process.kill(holder, "SIGCONT");
  await eventually(
    "the lab is back",
    async () => JSON.stringify(await powers(lab)) === '["running","running"]',
    () => service.log,
  );
  expect((await service.client.execProject({ lab, action: "stop", node: "h1", stopmode: 1 })).stopped).toBe(1);
  expect(await powers(lab)).toEqual(["stopped", "running"]);
});

test("a holder that hangs when the service starts keeps nobody from other labs; its lab is adopted when it answers", hangs, async () => {
  process.kill(holder, "SIGSTOP");
  await service.end("SIGKILL");
  await service.start();
  expect(await powers("/other")).toEqual(["running"]);
  await isShown();
  expect((await refusal(service.client.execProject({ lab, action: "stop" }))).code).toBe("host_timeout");
  process.kill(holder, "SIGCONT");
  await eventually(
    "the lab is adopted",
    async () => JSON.stringify(await powers(lab)) === '["running","running"]',
    () => service.log,
  );
  process.kill(holder, "SIGSTOP");
  await service.end("SIGKILL");
  await service.start();
  // Its disks stay; unsaved data of its nodes is lost with the holder.
  await isDestroyed(false);
});

test(
  "a command on a console that was open before fails with host_timeout, and at once when the holder is known to hang",
  hangs,
  async () => {
    const command = { lab, node: "h1", command: "echo there", timeout_ms: 60_000 };
    expect((await service.client.execConsole(command)).output).toContain("there");
    process.kill(holder, "SIGSTOP");
    expect((await refusal(service.client.execConsole(command))).code).toBe("host_timeout");
    const began = performance.now();
    expect((await refusal(service.client.execConsole(command))).code).toBe("host_timeout");
    // The node itself never answers: without a look at its host the command would take its 60 s.
    expect(performance.now() - began).toBeLessThan(10_000);
    process.kill(holder, "SIGCONT");
  },
);
