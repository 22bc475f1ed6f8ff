import Type, { type Static } from "typebox";
import { Failure } from "../../contract/errors.ts";
import type { JobStarted } from "../../contract/schemas/jobs.ts";
import { list, text } from "../../contract/schemas/shapes.ts";
import type { TestData, TestPayload, TestResult } from "../../contract/schemas/tests.ts";
import { joinIds } from "../../engine/compare/join.ts";
import type { Power } from "../../engine/model/observed.ts";
import { maskTests } from "../../engine/show/mask-tests.ts";
import { maskText } from "../../engine/show/secret-words.ts";
import { nearest } from "../../intent/diagnostics/nearest.ts";
import { sameData } from "../../intent/lab/canonical.ts";
import { endpointText } from "../../intent/lab/lab.ts";
import type { LabTest } from "../../intent/lab/lab-test.ts";
import type { ChangeKind } from "../changes/change-kind.ts";
import { refuseLocked, runChange } from "../changes/managed.ts";
import type { Caller, ChangeCall } from "../common/call.ts";
import { unsupported } from "../common/capabilities.ts";
import { labNotFound } from "../common/refusals.ts";
import { runProgram } from "../conditions/run-program.ts";
import { addressChange, neededIntent } from "../context/address.ts";
import { mayReadSecrets } from "../context/allow.ts";
import type { ChangeParts, ClockPart, ConditionsPart, ConsolesPart, StorePart } from "../context/parts.ts";
import type { Target } from "../context/target.ts";
import type { Job } from "../jobs/jobs.ts";
import { changeSuspend } from "../links/links.ts";
import { powerNodes } from "../power/power.ts";
import { runTests, type TestBench, type TestRow } from "./run-tests.ts";

type PowerParts = StorePart & ClockPart & ConsolesPart & ConditionsPart;

/** Journal request. `restore` is what a restart of the service must bring back if it interrupts the tests. */
const TestRequest = Type.Object({
  tests: Type.Array(Type.Unsafe<LabTest>(Type.Object({ name: Type.String() }))),
  /** Ends of links that had carrier, and nodes that ran, before the first test. */
  restore: Type.Object({ links: list(text), nodes: list(text) }),
});
type TestRequest = Static<typeof TestRequest>;

export const testKind: ChangeKind<typeof TestRequest, TestData> = {
  operation: "testProject",
  version: 1,
  request: TestRequest,
  isStepless: true,
  recover: async ({ target }, request) => ({ target, request: { ...request, tests: [] } }),
  run: async ({ context, job, target, interrupted }, request) => {
    if (interrupted === undefined) return testLab(context, job, target, request);
    await restore(context, job, target, request.restore);
    // A result without tests would look as if all had passed.
    throw new Failure(
      "cancelled",
      "a restart of the service ended the tests; links and nodes are as they were before: run labwright test again",
    );
  },
};

/** Runs the tests of the intent. Throws unsupported if the host cannot run programs in nodes, and lab_locked for tests that change the lab. */
export async function testProject(
  context: ChangeParts,
  caller: Caller,
  payload: TestPayload,
  call: ChangeCall,
): Promise<TestData | JobStarted> {
  const target = await addressChange(context, caller, payload, "operate");
  if (!(await target.host.capabilities()).features.nodeExec) throw unsupported("nodeExec");
  const { lab } = await neededIntent(target);
  const tests = chosen(lab.tests ?? [], payload.tests, target);
  return runChange(context, target, call, testKind, { tests, restore: await changedBy(target, tests) });
}

/** Users who may not read the secrets of the intent choose tests by the names that they are shown. */
function chosen(tests: readonly LabTest[], names: readonly string[] | undefined, target: Target): LabTest[] {
  if (names === undefined) return [...tests];
  const shown = (isShownWhole(target) ? tests : maskTests(tests)).map(({ name }) => name);
  for (const [index, name] of names.entries()) {
    if (!shown.includes(name)) throw noTest(`/tests/${index}`, name, shown);
  }
  return tests.filter((_test, index) => names.includes(shown[index] as string));
}

/** Maximum number of names in an error. */
const maxNames = 20;

function noTest(path: string, name: string, names: readonly string[]): Failure {
  const meant = nearest(name, names);
  const listed = names.slice(0, maxNames).map((one) => JSON.stringify(one));
  const all = names.length === 0 ? "it has none" : `it has ${listed.join(", ")}${names.length > maxNames ? " …" : ""}`;
  const message = `the intent has no test ${JSON.stringify(name)}${meant === undefined ? `: ${all}` : `; did you mean ${JSON.stringify(meant)}?`}`;
  return new Failure("bad_request", message, { data: { problems: [{ path, message }] } });
}

/** Whether the caller sent the intent, or may read its secrets. */
function isShownWhole(target: Target): boolean {
  return target.sent || mayReadSecrets(target);
}

/** Returns the result without the secrets of the intent, with the names of masked tests. */
function withoutSecrets(data: TestData, tests: readonly LabTest[]): TestData {
  const names = new Map(maskTests(tests).map(({ name }, index) => [tests[index]?.name, name]));
  const rows = data.tests.map((row) => ({ ...row, name: names.get(row.name) ?? maskText(row.name), message: maskText(row.message) }));
  return { ...data, tests: rows };
}

/** Returns what the tests change and have to restore. Throws lab_locked if they change anything of a locked lab. */
async function changedBy(target: Target, tests: readonly LabTest[]): Promise<TestRequest["restore"]> {
  const given = tests.flatMap((test) => test.given ?? []);
  if (given.length === 0) return { links: [], nodes: [] };
  const observed = await target.host.observe(target.path);
  if (observed === null) throw labNotFound(target.path);
  refuseLocked(observed);
  const ids = joinIds(target.intent?.lab ?? null, observed, target.ids);
  const power = new Map(observed.nodes.map((node) => [node.id, node.power]));
  const links = new Map(observed.links.map((link) => [link.id, link]));
  const nodes = [...new Set(given.flatMap(({ stop }) => stop))].filter((key) => power.get(ids.nodes[key] ?? "") === "running");
  const ends = [...new Set(given.flatMap(({ suspend }) => suspend))].filter((end) => {
    const found = linkOf(target, end);
    const link = found && links.get(ids.links[found.key] ?? "");
    return link !== undefined && link.suspended?.[found?.side ?? "a"] !== true;
  });
  return { links: ends, nodes };
}

/** Returns the link of the intent with this end (`node:interface`), and its side. */
function linkOf({ intent }: Target, end: string): { key: string; endpoints: readonly [string, string]; side: "a" | "b" } | undefined {
  for (const { key, endpoints } of intent?.lab.links ?? []) {
    const [a, b] = [endpointText(endpoints[0]), endpointText(endpoints[1])];
    if (a === end || b === end) return { key, endpoints: [a, b], side: a === end ? "a" : "b" };
  }
  return undefined;
}

/** Failures of a program's start that repeating the check does not mend. */
const lasting: ReadonlySet<string> = new Set(["machine_unreachable", "node_not_found", "lab_not_found"]);
/** Power of nodes that run only after somebody starts them. */
const down: ReadonlySet<Power> = new Set(["stopped", "suspended", "failed"]);

async function testLab(context: PowerParts, job: Job, target: Target, request: TestRequest): Promise<TestData> {
  const { host, path, intent } = target;
  const observed = await host.observe(path);
  if (observed === null) throw labNotFound(path);
  const ids = joinIds(intent?.lab ?? null, observed, target.ids);
  const bench: TestBench = {
    now: () => performance.now(),
    signal: job.signal,
    run: async (node, argv, timeoutMs) => {
      const nodeId = ids.nodes[node];
      if (host.processes === undefined) throw unsupported("nodeExec");
      if (nodeId === undefined) throw new Failure("node_not_found", `the lab has no node ${node}`);
      return runProgram(host.processes, { lab: path, nodeId }, { argv, timeoutMs }, job.signal);
    },
    mayRecover: async (node, failure) => {
      if (lasting.has(failure.code)) return false;
      if (failure.code !== "node_not_running") return true;
      const power = (await host.observe(path))?.nodes.find(({ id }) => id === ids.nodes[node])?.power;
      return power !== undefined && !down.has(power);
    },
    give: (given) => give(context, job, target, request.restore, given),
  };
  try {
    const data = dataOf(path, await runTests(request.tests, bench));
    if (intent !== undefined && request.tests.length === intent.lab.tests?.length) await recordResult(context, path, intent, data);
    return isShownWhole(target) ? data : withoutSecrets(data, intent?.lab.tests ?? []);
  } catch (error) {
    if (!job.signal.aborted) throw error;
    throw new Failure("cancelled", "the tests were cancelled; links and nodes are as they were before", { cause: error });
  }
}

/** Keeps the result with the lab, for lists of labs. Tests of another text than the recorded one are not those of the lab. */
async function recordResult(
  { store, clock }: StorePart & ClockPart,
  path: string,
  intent: NonNullable<Target["intent"]>,
  result: TestData,
): Promise<void> {
  const record = store.labs.get(path);
  if (record === undefined || record.yaml !== intent.yaml || !sameData(record.files, intent.files)) return;
  const { passed, failed, errors } = result;
  await store.labs.put({ ...record, tests: { passed, failed, errors, at: clock.now() } });
}

async function give(
  context: PowerParts,
  job: Job,
  target: Target,
  { links, nodes }: TestRequest["restore"],
  given: NonNullable<LabTest["given"]>,
): Promise<() => Promise<void>> {
  const changed = { links: links.filter((end) => given.suspend.includes(end)), nodes: nodes.filter((key) => given.stop.includes(key)) };
  const takeBack = () => restore(context, job, target, changed);
  try {
    for (const end of changed.links) await suspend(job, target, end, true);
    if (changed.nodes.length > 0) await power(context, job, target, "stop", changed.nodes);
  } catch (error) {
    await takeBack();
    throw error;
  }
  return takeBack;
}

/** Brings links and nodes back, also after a cancel. */
async function restore(context: PowerParts, job: Job, target: Target, { links, nodes }: TestRequest["restore"]): Promise<void> {
  for (const end of links) await suspend({ signal: new AbortController().signal }, target, end, false);
  if (nodes.length > 0) await power(context, job, target, "start", nodes);
}

async function suspend(job: Pick<Job, "signal">, target: Target, end: string, suspended: boolean): Promise<void> {
  const link = linkOf(target, end);
  if (link === undefined) throw new Failure("link_not_found", `${target.path} has no link at ${end}`);
  await changeSuspend(job, target, { endpoints: link.endpoints, suspended, side: link.side });
}

async function power(context: PowerParts, job: Job, target: Target, action: "start" | "stop", nodes: readonly string[]): Promise<void> {
  const { failed, nodes: outcomes = [] } = await powerNodes(context, job, target, { action, nodes: [...nodes], listed: true, mode: 3 });
  const first = outcomes.find(({ ok }) => !ok);
  if (failed > 0) throw new Failure("host_error", `${action} ${first?.node}: ${first?.message}`);
}

function dataOf(lab: string, rows: readonly TestRow[]): TestData {
  const count = (outcome: TestRow["outcome"]) => rows.filter((row) => row.outcome === outcome).length;
  const tests = rows.map(({ kind, durationMs, name, node, outcome, message, attempts }): TestResult => {
    return { name, node, check: kind, outcome, message, attempts, duration_ms: durationMs };
  });
  return { lab, passed: count("passed"), failed: count("failed"), errors: count("error"), tests };
}
