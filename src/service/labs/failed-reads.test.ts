import { expect, test } from "vitest";
import { Failure } from "../../contract/errors.ts";
import type { HostSession } from "../../hosts/host.ts";
import { memoryHost } from "../../hosts/memory/memory-host.ts";
import { createBench, pair, users } from "../service.fixture.ts";

/** A service whose host fails each live read with this error. */
async function failing(error: Error) {
  const memory = memoryHost({ users });
  const bench = createBench({
    host: {
      ...memory,
      login: async (...given) => {
        const session = await memory.login(...given);
        const status: HostSession["status"] = () => Promise.reject(error);
        return Object.assign(Object.create(session) as HostSession, { status });
      },
    },
  });
  const ann = await bench.login();
  await ann.call("deployProject", { yaml: pair });
  bench.time.now += 60_000;
  return ann;
}

const calls = ["inspectProject", "listProjectConsoles"] as const;

test.each(calls)("%s answers without the live states if the host fails to read them", async (call) => {
  const ann = await failing(new Failure("host_unreachable", "the host does not answer"));
  expect(await ann.call(call, { lab: "/pair" })).toMatchObject({ lab: "/pair" });
});

test.each(calls)("%s does not hide a defect of a live read", async (call) => {
  const ann = await failing(new TypeError("a defect"));
  await expect(ann.call(call, { lab: "/pair" })).rejects.toThrow("a defect");
});
