import { expect, test } from "vitest";
import { type LabwrightClient, LabwrightError } from "../../client/index.ts";
import type { Context } from "../command/context.ts";
import { runChange } from "./change.ts";

/** A context with a service whose answer to a request about job j1 is this error. */
function contextThatFails(error: LabwrightError): Context {
  const client: Partial<LabwrightClient> = {
    startJob: async () => ({ job: "j1" }),
    waitForJob: async () => {
      throw error;
    },
  };
  return { client: async () => client, terminal: { stderr: { isTTY: false } }, quiet: true } as unknown as Context;
}

const deploy = (error: LabwrightError) => runChange(contextThatFails(error), "deployProject", { yaml: "" }, { what: "deploying" });

test("if the service ends during a change, the error names the job and how to look it up", async () => {
  const gone = new LabwrightError("no connection", { status: 0, code: "host_unreachable" });
  await expect(deploy(gone)).rejects.toMatchObject({
    code: "host_unreachable",
    data: { hint: expect.stringMatching(/job j1 has begun; .*labwright jobs/) },
  });
});

test.each([
  ["deployProject", "labwright apply does the rest"],
  ["reconcileProject", "labwright apply does the rest"],
  ["destroyProject", "labwright destroy deletes the rest"],
  ["importProject", "labwright plan shows what is left"],
] as const)("the error names the command that finishes %s", async (id, next) => {
  const gone = new LabwrightError("no connection", { status: 0, code: "host_unreachable" });
  const change = runChange(contextThatFails(gone), id, { lab: "/a" }, { what: "changing" });
  await expect(change).rejects.toMatchObject({ data: { hint: expect.stringContaining(next) } });
});

test("a deploy that replaces a lab and breaks off is repeated: the old lab may still be there", async () => {
  const gone = new LabwrightError("no connection", { status: 0, code: "host_unreachable" });
  const change = runChange(contextThatFails(gone), "deployProject", { yaml: "", replace: true }, { what: "deploying" });
  await expect(change).rejects.toMatchObject({ data: { hint: expect.stringContaining("repeat the command with --replace") } });
});

test("if the host becomes unavailable during a change, the error is the service's own", async () => {
  const gone = new LabwrightError("the host is away", { status: 503, code: "host_unreachable" });
  await expect(deploy(gone)).rejects.toBe(gone);
});
