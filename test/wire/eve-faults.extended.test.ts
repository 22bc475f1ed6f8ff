import { afterEach, describe, expect, it } from "vitest";
import { eveHost } from "../../src/hosts/eve/host.ts";
import { type FakeEve, startFakeEve } from "../fakes/eve/server.ts";
import type { Answer } from "./raw-client.ts";
import { serve } from "./served.ts";

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const errorsIn = ({ data }: Answer["json"]): readonly unknown[] =>
  data.diagnostics.filter(({ severity }: { readonly severity: string }) => severity === "error");

const pair = 'name: pair\nnodes:\n  pc1: {template: vpcs}\n  pc2: {template: vpcs}\nlinks:\n  - ["pc1:eth0", "pc2:eth0"]\n';

describe.each(["visible", "hidden"] as const)("a service on an EVE-NG host, PHP's notices %s", (notices) => {
  async function signedIn(): Promise<{ readonly fake: FakeEve; readonly ask: (path: string, body: object) => Promise<Answer> }> {
    const fake = await startFakeEve({ latency: "none", templates: ["vpcs", "linux"], notices });
    ends.push(async () => {
      await fake.close();
      expect(fake.defects).toEqual([]);
    });
    const timing = { pollMs: 10, comeUpMs: 300, settleMs: 300 };
    const served = await serve({ host: eveHost({ url: fake.url, plainHttp: true, warn: () => {}, timing }) });
    ends.push(async () => served[Symbol.asyncDispose]());
    const client = await served.signIn("admin", "eve");
    return { fake, ask: (path, body) => client.post(`/api/v1/projects/${path}`, body) };
  }

  it("refuses attributes that a template does not have, and values that its form does not offer", async () => {
    const { fake, ask } = await signedIn();
    const wrong = "name: r\nnodes:\n  r3: {template: linux, attributes: {qemu_nicc: e1000}}\n";
    const values = "name: r\nnodes:\n  r3:\n    template: linux\n    attributes: {console: foo}\n";
    for (const path of ["validate", "deploy"]) {
      const { json } = await ask(path, { yaml: wrong });
      expect(errorsIn(json)).toMatchObject([
        { code: "unknown_attribute", line: 3, message: expect.stringContaining("did you mean qemu_nic?") },
      ]);
      const bad = await ask(path, { yaml: values });
      expect(errorsIn(bad.json)).toMatchObject([
        { code: "bad_value", line: 5, message: expect.stringContaining("not one of telnet, vnc, rdp") },
      ]);
    }
    const many =
      "name: r\nnodes:\n  r3: {template: linux, image: nope, attributes: {consol: telnet, foo: 1, qemu_version: 9.9}}\n  pc: {template: vpcs, ethernet: 3}\n";
    const { json } = await ask("validate", { yaml: many });
    const found = (json.data.diagnostics as { severity: string; code: string; path: string }[]).map(({ severity, code, path }) => [
      severity,
      code,
      path,
    ]);
    expect(found.sort()).toEqual([
      ["error", "bad_value", "/nodes/pc/ethernet"],
      ["error", "bad_value", "/nodes/r3/attributes/qemu_version"],
      ["error", "unknown_attribute", "/nodes/r3/attributes/consol"],
      ["error", "unknown_attribute", "/nodes/r3/attributes/foo"],
      ["error", "unknown_image", "/nodes/r3/image"],
    ]);
    expect(fake.labFile("/r.unl")).toBeUndefined();
    const right =
      "name: r\nnodes:\n  r3: {template: linux, start: false, attributes: {qemu_nic: e1000, console: telnet, cpulimit: false}}\n";
    expect((await ask("deploy", { yaml: right })).status).toBe(200);
    expect((await ask("plan", { yaml: right })).json.data.actions).toEqual([]);
    expect((await ask("plan", { yaml: right.replace("console: telnet", "console: foo") })).json.data.blocked).toMatchObject([
      { key: "r3", reason: { code: "bad_value", field: "attributes.console" } },
    ]);
  });

  it("suggests the nearest of the host's many templates once, and does not list all of them", async () => {
    const fake = await startFakeEve({ latency: "none", notices });
    ends.push(() => fake.close());
    const served = await serve({ host: eveHost({ url: fake.url, plainHttp: true, warn: () => {} }) });
    ends.push(async () => served[Symbol.asyncDispose]());
    const client = await served.signIn("admin", "eve");
    const errors = async (template: string) =>
      errorsIn((await client.post("/api/v1/projects/deploy", { yaml: `name: r\nnodes:\n  a: {template: ${template}}\n` })).json);
    expect(await errors("vpsc")).toMatchObject([
      { message: "node a: the host has no template vpsc; did you mean vpcs?", hint: "labwright templates lists them" },
    ]);
    expect(await errors("qqqqqq")).toMatchObject([
      { message: expect.stringMatching(/^node a: the host has no template qqqqqq; it has \d+ others, none with a similar name$/) },
    ]);
  });

  it("validates the path of a lab as a deploy does", async () => {
    const { fake, ask } = await signedIn();
    const dotted = pair.replace("name: pair", "name: a.b");
    const { json } = await ask("validate", { yaml: dotted });
    expect(errorsIn(json)).toMatchObject([
      { severity: "error", code: "invalid_name", line: 1, message: expect.stringMatching(/cannot have a lab "\/a\.b": .*letters, digits/) },
    ]);
    for (const named of [{ lab: "/x.y/a" }, { manifest: "version: 1\nmode: create\nlab: /x.y/a\n" }]) {
      for (const path of ["validate", "deploy"]) {
        const { status, json: refused } = await ask(path, { yaml: pair, ...named });
        expect([path, status, refused.code]).toEqual([path, 400, "bad_request"]);
        expect(refused.error).toContain('cannot have a lab "/x.y/a"');
      }
    }
    expect((await ask("validate", { yaml: dotted, lab: "/courses/a_b" })).status).toBe(200);
    expect(fake.folders()).toEqual([]);
  });

  it("lists the nodes that run on after the destroy of a lab that somebody deleted on the host", async () => {
    const { fake, ask } = await signedIn();
    expect((await ask("deploy", { yaml: pair })).status).toBe(200);
    expect((await ask("exec", { yaml: pair, action: "stop", nodes: ["pc2"] })).status).toBe(200);
    await deleteByHand(fake, "/pair");
    const { status, json } = await ask("destroy", { lab: "/pair" });
    expect(status).toBe(200);
    expect(json.data.warnings).toEqual([
      { code: "left_running", node: "pc1", message: expect.stringMatching(/pc1 goes on running as number 1 of the host/) },
    ]);
  });

  it("lists the node that runs on after somebody deleted it from the lab, when the lab is destroyed", async () => {
    const { fake, ask } = await signedIn();
    expect((await ask("deploy", { yaml: pair })).status).toBe(200);
    await deleteByHand(fake, "/pair", "/nodes/2");
    expect((await ask("destroy", { lab: "/pair" })).json.data.warnings).toEqual([
      { code: "left_running", node: "pc2", message: expect.stringMatching(/pc2 goes on running as number 2 of the host/) },
    ]);
    expect(fake.running().map(({ node }) => node)).toEqual([2]);
  });

  it("names no node of another lab that has the number of a lab that somebody deleted", async () => {
    const { fake, ask } = await signedIn();
    expect((await ask("deploy", { yaml: pair })).status).toBe(200);
    expect((await ask("exec", { yaml: pair, action: "stop" })).status).toBe(200);
    await deleteByHand(fake, "/pair");
    expect((await ask("deploy", { yaml: pair.replace("name: pair", "name: next") })).status).toBe(200);
    expect(fake.running().map(({ node }) => node)).toEqual([1, 2]);
    expect((await ask("destroy", { lab: "/pair" })).json.data).toEqual({ lab: "/pair" });
  });

  it.each(["", "<lab"])("lists the nodes that run on after the destroy of a lab whose file is %j", async (text) => {
    const { fake, ask } = await signedIn();
    expect((await ask("deploy", { yaml: pair })).status).toBe(200);
    fake.putLabFile("/pair.unl", text);
    const { status, json } = await ask("destroy", { lab: "/pair" });
    expect([status, fake.labFile("/pair.unl")]).toEqual([200, undefined]);
    expect(json.data.warnings.map(({ code, node }: Record<string, string>) => `${code} ${node}`).sort()).toEqual([
      "left_running pc1",
      "left_running pc2",
    ]);
  });

  it.each(["page before", "cut before"] as const)("blames no single step for an import that broke (%s)", async (how) => {
    const { fake, ask } = await signedIn();
    expect((await ask("deploy", { yaml: pair })).status).toBe(200);
    const names = ["a", "b", "c", "d", "e", "f"];
    const more = `name: pair\nnodes:\n${names.map((name) => `  ${name}: {template: vpcs}\n`).join("")}`;
    const apply = async () => {
      const { plan_identity } = (await ask("plan", { yaml: more })).json.data;
      return ask("reconcile", { yaml: more, confirm: true, plan_identity });
    };
    fake.breakNext(/POST \/api\/import/, how);
    const { json } = await apply();
    expect(json.error).toMatch(/^(?!create|delete|update|stop).*; nothing of the change was done$/);
    expect(json.data.failed.map(({ id }: { readonly id: string }) => id)).toEqual(
      expect.arrayContaining(names.map((name) => `create:node:${name}`)),
    );
    expect((await apply()).status).toBe(200);
  });
});

/** As in the web interface: the host forgets the lab, and its processes run on. */
async function deleteByHand({ url }: FakeEve, path: string, part = ""): Promise<void> {
  const body = JSON.stringify({ username: "admin", password: "eve", html5: "-1" });
  const cookie = (await fetch(`${url}/api/auth/login`, { method: "POST", body })).headers.get("set-cookie")?.split(";")[0] ?? "";
  expect((await fetch(`${url}/api/labs${path}.unl${part}`, { method: "DELETE", headers: { cookie } })).status).toBe(200);
}
