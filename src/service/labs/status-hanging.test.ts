import { afterEach, expect, test, vi } from "vitest";
import { memoryHost } from "../../hosts/memory/memory-host.ts";
import { createBench, pair, users } from "../service.fixture.ts";

afterEach(() => {
  vi.useRealTimers();
});

test.each(["status", "observe"] as const)(
  "a host that does not answer %s ends no status: what could be read is answered",
  async (hanging) => {
    const memory = memoryHost({ users });
    let hangs = false;
    const bench = createBench({
      host: {
        ...memory,
        login: async (...given) => {
          const session = await memory.login(...given);
          const read = session[hanging].bind(session) as (path: string) => Promise<unknown>;
          const hang = { [hanging]: (path: string) => (hangs ? new Promise(() => {}) : read(path)) };
          return Object.assign(Object.create(session) as typeof session, hang);
        },
      },
    });
    const ann = await bench.login();
    await ann.call("deployProject", { yaml: pair });
    hangs = true;
    bench.time.now += 60_000;
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const status = ann.call("getProjectStatus", { lab: "/pair" });
    await vi.advanceTimersByTimeAsync(14_000);
    const error = { code: "host_timeout", error: "the host did not answer within 12 s" };
    expect(await status).toMatchObject({ exists: true, live: hanging === "status" ? { available: false, error } : { available: true } });
    vi.useRealTimers();
    await bench.service.close();
    await memory.close();
  },
);
