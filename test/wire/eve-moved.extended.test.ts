import { afterEach, describe, expect, it } from "vitest";
import { showStatus } from "../../src/cli/show/show-status.ts";
import { eveHost } from "../../src/hosts/eve/host.ts";
import type { FakeEveOptions } from "../fakes/eve/options.ts";
import { startFakeEve } from "../fakes/eve/server.ts";
import { serve } from "./served.ts";

let ends: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const end of ends.reverse()) await end();
  ends = [];
});

const users = ["admin", "second"].map((username) => ({ username, password: "eve" }));
const yaml = "name: pair\nnodes:\n  pc1: {template: vpcs, start: false}\n";

async function served(options: FakeEveOptions) {
  const fake = await startFakeEve({ latency: "none", templates: ["vpcs"], users, ...options });
  ends.push(async () => {
    await fake.close();
    expect(fake.defects).toEqual([]);
  });
  const timing = { pollMs: 10, othersMs: 0 };
  const service = await serve({ host: eveHost({ url: fake.url, plainHttp: true, warn: () => {}, timing }) });
  ends.push(async () => service[Symbol.asyncDispose]());
  const client = await service.signIn("admin", "eve");
  const ask = (path: string, body: object) => client.post(`/api/v1/${path}`, body);
  /** Somebody works in the file manager of the host's web pages. */
  const browse = async (method: string, path: string, body: object) => {
    const login = { method: "POST", body: JSON.stringify({ username: "second", password: "eve", html5: "-1" }) };
    const cookie = (await fetch(`${fake.url}/api/auth/login`, login)).headers.get("set-cookie")?.split(";")[0] ?? "";
    const answer = await fetch(`${fake.url}${path}`, { method, headers: { cookie }, body: JSON.stringify(body) });
    expect(answer.status).toBe(200);
  };
  return { fake, ask, browse };
}

describe.each([
  ["ce5", "visible"],
  ["ce5", "hidden"],
  ["ce6", "visible"],
  ["pro", "hidden"],
] as const)("%s with notices %s: a lab that somebody moved on the host", (edition, notices) => {
  async function moved() {
    const here = await served({ edition, notices });
    here.fake.addFolder("/courses");
    for (const lab of ["/pair", "/other"]) expect((await here.ask("projects/deploy", { yaml, lab })).status).toBe(200);
    await here.browse("PUT", "/api/labs/pair.unl/move", { path: "/courses" });
    return here;
  }

  it("is reported with its new path by status and plan, and is not made a second time by deploy and apply", async () => {
    const { ask, fake } = await moved();
    const status = (await ask("projects/status", { lab: "/pair" })).json.data;
    expect([status.exists, status.moved_to]).toEqual([false, "/courses/pair"]);
    expect(showStatus((_style, text) => text, status)).toMatch(/moved to \/courses\/pair[\s\S]*labwright adopt \/courses\/pair/);
    const plan = (await ask("projects/plan", { yaml, lab: "/pair" })).json.data;
    expect(plan).toMatchObject({ exists: false, applicable: false, moved_to: "/courses/pair" });
    expect(plan.text).toMatch(/^The lab \/pair was moved or renamed on the host and is now \/courses\/pair\..*labwright adopt/);
    for (const [operation, body] of [
      ["deploy", {}],
      ["reconcile", { confirm: true, plan_identity: plan.plan_identity }],
    ] as const) {
      const { status: code, json } = await ask(`projects/${operation}`, { yaml, lab: "/pair", ...body });
      expect([operation, code, json.code, json.data?.moved_to]).toEqual([operation, 403, "operation_not_allowed", "/courses/pair"]);
      expect(json.error).toContain("labwright adopt /courses/pair");
    }
    expect(fake.labFile("/pair.unl")).toBeUndefined();
    for (const [operation, body] of [
      ["projects/exec", { action: "start" }],
      ["projects/inspect", {}],
      ["console/exec", { node: "pc1", command: "x" }],
    ] as const) {
      const { status: code, json } = await ask(operation, { lab: "/pair", ...body });
      expect([operation, code, json.code, json.data?.moved_to]).toEqual([operation, 404, "lab_not_found", "/courses/pair"]);
    }
  });

  it("is managed again if it is adopted at its new path, and its old path is free again", async () => {
    const { ask, fake } = await moved();
    expect((await ask("labs/adopt", { lab: "/courses/pair" })).status).toBe(200);
    expect((await ask("projects/status", { lab: "/pair" })).json.data.moved_to).toBeUndefined();
    expect((await ask("projects/plan", { yaml, lab: "/courses/pair" })).json.data).toMatchObject({
      exists: true,
      actions: [],
    });
    expect((await ask("projects/destroy", { lab: "/pair" })).status).toBe(200);
    expect((await ask("projects/deploy", { yaml, lab: "/pair" })).status).toBe(200);
    expect([fake.labFile("/pair.unl"), fake.labFile("/courses/pair.unl")]).toEqual([expect.any(String), expect.any(String)]);
  });
});

it("a lab that somebody renamed on the host is found, a lab that somebody deleted is not", async () => {
  const { ask, browse } = await served({});
  for (const lab of ["/pair", "/gone"]) expect((await ask("projects/deploy", { yaml, lab })).status).toBe(200);
  await browse("PUT", "/api/labs/pair.unl", { name: "better" });
  await browse("DELETE", "/api/labs/gone.unl", {});
  const now = async (lab: string) => (await ask("projects/status", { lab })).json.data;
  expect(await now("/pair")).toMatchObject({ exists: false, moved_to: "/better" });
  const gone = await now("/gone");
  expect([gone.exists, gone.moved_to]).toEqual([false, undefined]);
  expect((await ask("projects/deploy", { yaml, lab: "/gone" })).status).toBe(200);
});
