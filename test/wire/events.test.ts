import { request } from "node:https";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Failure } from "../../src/contract/errors.ts";
import type { EventData } from "../../src/contract/schemas/observe.ts";
import type { Host } from "../../src/hosts/host.ts";
import { memoryHost } from "../../src/hosts/memory/memory-host.ts";
import type { RawClient } from "./raw-client.ts";
import { cookieIn, type Served, serve, users } from "./served.ts";

interface Listening {
  readonly status: () => number | undefined;
  readonly type: () => string | undefined;
  readonly text: () => string;
  readonly events: () => EventData[];
  /** Without heartbeats. */
  readonly news: () => EventData[];
  readonly ended: () => boolean;
  leave(): void;
}

const open: Listening[] = [];

function listen(url: string, query: string, headers: Readonly<Record<string, string>>): Listening {
  let [text, ended] = ["", false];
  let status: number | undefined;
  let type: string | undefined;
  const sent = request(`${url}/api/v1/events${query}`, { headers, rejectUnauthorized: false, agent: false });
  sent.on("response", (response) => {
    status = response.statusCode;
    type = response.headers["content-type"];
    response.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    response.on("close", () => {
      ended = true;
    });
    response.on("error", () => {});
  });
  sent.on("error", () => {
    ended = true;
  });
  sent.end();
  const events = () =>
    text
      .split("\n")
      .slice(0, -1)
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as EventData);
  const listening: Listening = {
    status: () => status,
    type: () => type,
    text: () => text,
    events,
    news: () => events().filter((event) => event.type !== "heartbeat"),
    ended: () => ended,
    leave: () => sent.destroy(),
  };
  open.push(listening);
  return listening;
}

const yaml = (name: string) => `name: ${name}\nnodes:\n  r1: {template: frr}\n  r2: {template: frr}\nlinks:\n  - ["r1:eth1", "r2:eth1"]\n`;
const nodeData = (events: readonly EventData[], node: string) =>
  events
    .filter(({ type, data }) => type === "node" && (data as { node: string }).node === node)
    .map(({ data }) => data as Record<string, unknown>);

/** The memory host, with its status reads counted, and broken on demand. */
function countedHost(): { readonly host: Host; reads: number; broken: boolean } {
  const inner = memoryHost({ users });
  const counted = {
    reads: 0,
    broken: false,
    host: {
      ...inner,
      login: async (user: string, password: string) => {
        const session = await inner.login(user, password);
        return {
          ...session,
          status: async (lab: string) => {
            counted.reads++;
            if (counted.broken) throw new Failure("host_unreachable", "away");
            return session.status(lab);
          },
        };
      },
    },
  };
  return counted;
}

let counted: ReturnType<typeof countedHost>;
let served: Served;
let ann: RawClient;
let bob: RawClient;
let eve: RawClient;

beforeAll(async () => {
  counted = countedHost();
  served = await serve({
    host: counted.host,
    service: { events: { heartbeatMs: 200, intervalMs: 100, history: 400 }, statusIntervalMs: 50 },
  });
  [ann, bob, eve] = await Promise.all([served.signIn("ann"), served.signIn("bob"), served.signIn("eve")]);
  await ann.post("/api/v1/projects/deploy", { yaml: yaml("ann1") });
});
afterEach(() => {
  for (const one of open.splice(0)) one.leave();
});
afterAll(() => served[Symbol.asyncDispose]());

const as = (client: RawClient) => ({ Authorization: `Bearer ${client.token}` });
const hear = (client: RawClient, query = "", headers = {}) => listen(served.url, query, { ...as(client), ...headers });
async function heard(client: RawClient, query = "", headers = {}): Promise<Listening> {
  const listening = hear(client, query, headers);
  await expect.poll(listening.events).not.toEqual([]);
  return listening;
}
const exec = (client: RawClient, lab: string, action: string, node: string) => client.post("/api/v1/projects/exec", { lab, action, node });

describe("a stream of events", () => {
  test("report a node's states by its key in the intent", async () => {
    const listening = await heard(ann, "?lab=/ann1");
    await exec(ann, "/ann1", "stop", "r1");
    await expect.poll(() => nodeData(listening.events(), "r1").map(({ status }) => status), { interval: 10 }).toContain("stopped");
    expect(nodeData(listening.events(), "r1")[0]).toMatchObject({ node: "r1", name: "r1", previous: "running" });
    await exec(ann, "/ann1", "start", "r1");
    await expect.poll(() => nodeData(listening.events(), "r1").at(-1)?.status).toBe("running");
    expect(nodeData(listening.events(), "r2")).toEqual([]);
  });

  test("report the progress of a change, its outcome for the lab, and the nodes of a new lab", async () => {
    const listening = await heard(bob);
    await bob.post("/api/v1/projects/deploy", { yaml: yaml("bob1") });
    await expect.poll(() => nodeData(listening.events(), "r2").at(-1)?.status).toBe("running");
    await bob.post("/api/v1/projects/destroy", { lab: "/bob1" });
    const done = () => listening.news().filter(({ type, data }) => type === "job" && (data as { status: string }).status === "done");
    await expect.poll(() => done().length).toBe(2);
    const jobs = listening.news().filter(({ type }) => type === "job");
    expect(jobs[0]).toMatchObject({
      lab: "/bob1",
      data: { job: expect.any(String), operation: "deployProject", user: "bob", status: "running", step: 0, steps: 0 },
    });
    const ended = done()[0]?.data as { step: number; steps: number };
    expect(ended).toMatchObject({ operation: "deployProject", outcome: "finished" });
    expect([ended.steps > 3, ended.step]).toEqual([true, ended.steps]);
    const labs = listening.news().filter(({ type }) => type === "lab");
    expect(labs.map(({ data }) => data)).toEqual([{ change: "created" }, { change: "deleted" }]);
    for (const event of listening.events()) expect(Object.keys(event).sort()).toEqual(expect.arrayContaining(["at", "id", "type"]));
  });

  test("report a change that failed, with its code", async () => {
    const listening = await heard(ann, "?types=job");
    await ann.post("/api/v1/projects/deploy", { yaml: yaml("ann1") });
    await expect
      .poll(() => listening.news().at(-1)?.data)
      .toMatchObject({ status: "failed", outcome: "failed", error: { code: "lab_exists" } });
  });

  test("contain nothing of the text of an intent that the host cannot make; its job names the places and shows no line", async () => {
    const listening = await heard(ann, "?types=job");
    const intent = "name: unmade\nnodes: {r1: {template: nope, env: {TOKEN: hush}}}\n";
    const refused = await ann.post("/api/v1/projects/deploy", { yaml: intent });
    expect(refused.json.error).toContain("hush");
    const last = () => listening.news().at(-1)?.data as { readonly job: string; readonly error?: { readonly code: string } } | undefined;
    await expect.poll(last).toMatchObject({ status: "failed", error: { code: "invalid_intent" } });
    expect(JSON.stringify(listening.news())).not.toContain("hush");
    const { error } = (await ann.get(`/api/v1/jobs/${last()!.job}`)).json.data;
    expect(error.error).toMatch(/^lab\.yaml:2:24: error: node r1: the host has no template nope/);
    expect(error.data.diagnostics).toEqual(refused.json.data.diagnostics);
    expect(JSON.stringify(error)).not.toContain("hush");
  });

  test("report that the host cannot be read, and that it can again; states stay as they were", async () => {
    const listening = await heard(ann, "?lab=/ann1");
    counted.broken = true;
    await expect.poll(() => listening.news().map(({ data }) => data)).toEqual([{ live: "unavailable" }]);
    counted.broken = false;
    await expect.poll(() => listening.news().map(({ data }) => data)).toEqual([{ live: "unavailable" }, { live: "available" }]);
  });

  test("is never quiet for long, and its heartbeat has the id to resume at", async () => {
    const listening = await heard(ann, "?types=capture");
    await expect.poll(() => listening.events().length).toBeGreaterThan(3);
    expect(new Set(listening.events().map(({ type }) => type))).toEqual(new Set(["heartbeat"]));
    expect(listening.events().at(-1)?.id).toMatch(/^[0-9a-f]{12}-\d+$/);
  });

  test("comes as server-sent events where Accept asks for them, also by a page's cookie", async () => {
    const cookie = cookieIn(await ann.post("/api/v1/browser/session", {})).header;
    const page = { Cookie: cookie, "Sec-Fetch-Site": "same-origin", Accept: "text/event-stream" };
    const listening = listen(served.url, "?lab=/ann1", page);
    await expect.poll(listening.text).toMatch(/^id: [0-9a-f]{12}-\d+\nevent: heartbeat\ndata: \{"id":.*\}\n\n/);
    expect(listening.type()).toBe("text/event-stream; charset=utf-8");
    await exec(ann, "/ann1", "stop", "r2");
    await expect.poll(listening.text).toMatch(/\nevent: node\ndata: \{.*"node":"r2".*"status":"stopped".*\}\n\n/);
    await exec(ann, "/ann1", "start", "r2");
    const foreign = listen(served.url, "", { ...page, "Sec-Fetch-Site": "cross-site" });
    await expect.poll(foreign.status).toBe(401);
  });
});

describe("resuming", () => {
  test("gives what was missed and nothing twice, also what happened while nobody listened", async () => {
    const first = await heard(ann, "?lab=/ann1");
    await exec(ann, "/ann1", "stop", "r1");
    await expect.poll(() => nodeData(first.events(), "r1").at(-1)?.status).toBe("stopped");
    await expect.poll(() => first.events().at(-1)?.type).toBe("heartbeat");
    const last = first.events().at(-1)?.id ?? "";
    first.leave();
    await exec(ann, "/ann1", "start", "r1");
    await exec(ann, "/ann1", "stop", "r2");
    for (const resumed of [await heard(ann, `?lab=/ann1&after=${last}`), await heard(ann, "?lab=/ann1", { "Last-Event-ID": last })]) {
      await expect.poll(() => nodeData(resumed.events(), "r1").map(({ status }) => status)).toEqual(["running"]);
      await expect.poll(() => nodeData(resumed.events(), "r2").at(-1)?.status).toBe("stopped");
      const ids = resumed.news().map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(first.events().map(({ id, type }) => `${id} ${type}`)).not.toContain(`${ids[0]} ${resumed.news()[0]?.type}`);
    }
    await exec(ann, "/ann1", "start", "r2");
  });

  test("report a gap at an id that is not known", async () => {
    const listening = await heard(ann, "?after=0123456789ab-7");
    expect(listening.events()[0]).toMatchObject({ type: "gap", data: { after: "0123456789ab-7", reason: "restart" } });
  });
});

describe("who sees what", () => {
  test("a user sees the own labs, a viewer and an admin all of them", async () => {
    const [ofAnn, ofBob, ofEve] = await Promise.all([heard(ann), heard(bob), heard(eve)]);
    await exec(ann, "/ann1", "stop", "r1");
    await bob.post("/api/v1/projects/deploy", { yaml: yaml("bob2") });
    await expect.poll(() => ofEve.news().filter(({ lab }) => lab === "/bob2").length).toBeGreaterThan(3);
    await expect.poll(() => nodeData(ofEve.events(), "r1").length).toBeGreaterThan(1);
    await bob.post("/api/v1/projects/destroy", { lab: "/bob2" });
    await expect.poll(() => ofBob.news().at(-1)?.data).toMatchObject({ operation: "destroyProject", status: "done" });
    expect(new Set(ofBob.news().map(({ lab }) => lab))).toEqual(new Set(["/bob2"]));
    await expect.poll(() => new Set(ofAnn.news().map(({ lab }) => lab))).toEqual(new Set(["/ann1"]));
    await expect.poll(() => new Set(ofEve.news().map(({ lab }) => lab))).toEqual(new Set(["/ann1", "/bob2"]));
    await exec(ann, "/ann1", "start", "r1");
    // Not even afterwards, when the lab has no owner any more.
    const later = await heard(ann, `?after=0123456789ab-0`);
    expect(later.news().filter(({ lab }) => lab === "/bob2")).toEqual([]);
  });

  test.each<[string, string, number, string]>([
    ["another's lab", "?lab=/ann1", 404, "lab_not_found"],
    ["a lab that is not there", "?lab=/nothing", 404, "lab_not_found"],
    ["a path that is none", "?lab=/../etc", 400, "bad_request"],
    ["a type that is none", "?types=node,secrets", 400, "bad_request"],
  ])("%s is refused with an envelope", async (_name, query, status, code) => {
    const answer = await bob.get(`/api/v1/events${query}`);
    expect([answer.status, answer.json.code]).toEqual([status, code]);
  });

  test("readers of a lab that ask for presence see each other while they read, and nobody without a right on it", async () => {
    const here = (listening: Listening) =>
      (
        listening
          .news()
          .filter(({ type }) => type === "presence")
          .at(-1)?.data as { readonly users: readonly string[] } | undefined
      )?.users;
    await ann.send({ method: "PUT", path: "/api/v1/labs/grants" }, { lab: "/ann1", grants: [{ user: "bob", right: "view" }] });
    const [hers, silent] = [await heard(ann, "?lab=/ann1&types=presence"), await heard(bob, "?lab=/ann1")];
    await expect.poll(() => here(hers)).toEqual(["ann"]);
    const his = await heard(bob, "?lab=/ann1&types=presence,node");
    const second = await heard(bob, "?lab=/ann1&types=presence");
    for (const one of [hers, his, second]) await expect.poll(() => here(one)).toEqual(["ann", "bob"]);
    // Without a lab, a reader is shown to nobody.
    await heard(eve, "?types=presence");
    his.leave();
    second.leave();
    await expect.poll(() => here(hers)).toEqual(["ann"]);
    expect(silent.news().filter(({ type }) => type === "presence")).toEqual([]);
    // The right is checked when the list is sent.
    const again = await heard(bob, "?lab=/ann1&types=presence");
    await expect.poll(() => here(hers)).toEqual(["ann", "bob"]);
    await ann.send({ method: "PUT", path: "/api/v1/labs/grants" }, { lab: "/ann1", grants: [] });
    const count = again.news().length;
    await heard(ann, "?lab=/ann1&types=presence");
    await expect.poll(() => here(hers)).toEqual(["ann"]);
    expect(again.news()).toHaveLength(count);
  });
  test("a stream ends with the session that it was opened with", async () => {
    const other = await served.signIn("ann");
    const [ending, staying] = [await heard(other), await heard(ann)];
    await other.post("/api/v1/logout", {});
    await expect.poll(ending.ended).toBe(true);
    expect(staying.ended()).toBe(false);
  });
});

describe("what it costs", () => {
  test("nobody listening, the host is left alone; ten listeners and a poller share its reads", async () => {
    await expect
      .poll(async () => {
        const before = counted.reads;
        await new Promise((resolve) => setTimeout(resolve, 250));
        return counted.reads - before;
      })
      .toBe(0);
    const many = await Promise.all(Array.from({ length: 10 }, () => heard(ann, "?lab=/ann1")));
    const [from, began] = [counted.reads, performance.now()];
    for (let poll = 0; poll < 50; poll++) {
      await ann.post("/api/v1/projects/status", { lab: "/ann1" });
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    // At most once in 50 ms, for all clients together.
    expect(counted.reads - from).toBeLessThanOrEqual((performance.now() - began) / 50 + 1);
    expect(many.every(({ ended }) => !ended())).toBe(true);
  });

  test("who asks for jobs only causes no reads", async () => {
    const listening = await heard(ann, "?types=job");
    const before = counted.reads;
    await expect.poll(() => listening.events().length).toBeGreaterThan(3);
    expect(counted.reads).toBe(before);
  });
});
