import { afterEach, expect, test } from "vitest";
import { Failure } from "../../src/contract/errors.ts";
import type { HostSession } from "../../src/hosts/host.ts";
import { memoryHost } from "../../src/hosts/memory/memory-host.ts";
import { type Served, serve, users } from "./served.ts";

const lost = {
  id: "1b4e28ba-2fa1-41d2-883f-0016d3cca427",
  reason: "its lab.json is missing",
  lab: "/lost",
  owner: "ann",
  running: true,
  restorable: true,
};

let served: Served;
afterEach(async () => served[Symbol.asyncDispose]());

/** The memory host, with one lab that it has lost. */
async function serveLost(): Promise<void> {
  const memory = memoryHost({ users });
  const left = [lost];
  const found = (id: string) => {
    const at = left.findIndex((one) => one.id === id);
    if (at < 0) throw new Failure("lab_not_found", `there is no lab ${id} in quarantine`);
    left.splice(at, 1);
  };
  const quarantine: HostSession["quarantine"] = {
    list: async () => [...left],
    restore: async (id) => {
      found(id);
      return "/lost";
    },
    remove: async (id) => found(id),
  };
  served = await serve({ host: { ...memory, login: async (name, password) => ({ ...(await memory.login(name, password)), quarantine }) } });
}

test("an admin lists labs in quarantine, and restores or deletes them; others may not even look", async () => {
  await serveLost();
  const path = "/api/v1/quarantine";
  for (const name of ["ann", "eve"]) {
    const client = await served.signIn(name);
    for (const answer of [
      await client.get(path),
      await client.post(`${path}/${lost.id}/restore`, {}),
      await client.post(`${path}/${lost.id}/delete`, {}),
    ])
      expect([answer.status, answer.json.code]).toEqual([403, "operation_not_allowed"]);
  }
  const admin = await served.signIn("admin");
  expect((await admin.get(path)).json.data).toEqual({ labs: [lost] });
  const unknown = await admin.post(`${path}/none/restore`, {});
  expect([unknown.status, unknown.json.code]).toEqual([404, "lab_not_found"]);
  expect((await admin.post(`${path}/${lost.id}/restore`, {})).json.data).toEqual({ id: lost.id, lab: "/lost" });
  const gone = await admin.post(`${path}/${lost.id}/delete`, {});
  expect([gone.status, gone.json.code]).toEqual([404, "lab_not_found"]);
});

test("the quarantine of a host that loses no lab is empty", async () => {
  served = await serve({ host: memoryHost({ users }) });
  const admin = await served.signIn("admin");
  expect((await admin.get("/api/v1/quarantine")).json.data).toEqual({ labs: [] });
  for (const action of ["restore", "delete"]) {
    const answer = await admin.post(`/api/v1/quarantine/${lost.id}/${action}`, {});
    expect([answer.status, answer.json.code]).toEqual([404, "lab_not_found"]);
  }
});
