import { afterEach, expect, test } from "vitest";
import { type Bench, createBench, failureOf, pair } from "../service.fixture.ts";

const benches: Bench[] = [];
afterEach(async () => {
  for (const { service, host } of benches.splice(0)) {
    await service.close();
    await host.close();
  }
});

test("resume is unsupported on a host that does not report interrupted nodes; a lab of another user is not found", async () => {
  const made = createBench();
  benches.push(made);
  const [ann, bob] = [await made.login(), await made.login("bob")];
  await ann.call("deployProject", { yaml: pair });
  expect((await ann.get("getCapabilities")).features?.["resume"]).toBe(false);
  for (const ask of [
    (client: typeof ann) => client.call("setLabResume", { lab: "/pair", resume: "always" }),
    (client: typeof ann) => client.call("resumeLab", { lab: "/pair" }),
  ]) {
    expect(await failureOf(ask(ann))).toMatchObject({ code: "unsupported", data: { feature: "resume" } });
    expect((await failureOf(ask(bob))).code).toBe("lab_not_found");
  }
  expect((await ann.call("getProjectStatus", { lab: "/pair" })).resume).toBeUndefined();
  await made.service.recover();
});
