/** A service in a process of its own, which a test stops with SIGSTOP in the middle of a change. Usage: URL LEASE_MS. */
import { createInterface } from "node:readline/promises";
import { Failure } from "../../../contract/errors.ts";
import { createBench, pair } from "../../service.fixture.ts";
import { postgresAddress } from "../address/address.ts";
import { postgresStore } from "../postgres/postgres-store.ts";

const [url = "", leaseMs] = process.argv.slice(2);
const store = await postgresStore(postgresAddress(url), { installation: "paused", log: () => {}, leaseMs: Number(leaseMs) });
const made = createBench({ store });
const lines = createInterface({ input: process.stdin });
const released = new Promise<void>((resolve) => void lines.once("line", () => resolve()));
made.step = async (_lab, { step }) => {
  if (step.do !== "start") return;
  process.stdout.write("held\n");
  await released;
};
const ann = await made.login();
const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => "done",
    (error: unknown) => (error instanceof Failure ? error.code : String(error)),
  );
process.stdout.write(`deploy ${await codeOf(Promise.resolve(ann.call("deployProject", { yaml: pair })))}\n`);
// The lab belongs to the other service now: this one can read it and cannot change it.
process.stdout.write(`destroy ${await codeOf(Promise.resolve(ann.call("destroyProject", { lab: "/pair" })))}\n`);
await made.service.close();
process.exit();
