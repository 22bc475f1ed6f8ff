import { afterEach, describe, expect, it } from "vitest";
import { type EveBench, eveBench, lab, node } from "../eve-bench.fixture.ts";
import { communityPort } from "./console.ts";

let bench: EveBench | undefined;

afterEach(async () => {
  const ended = bench;
  bench = undefined;
  await ended?.[Symbol.asyncDispose]();
  expect(ended?.fake.defects ?? []).toEqual([]);
});

const two = (start: boolean) => lab({ nodes: ["l1", "l2"].map((key) => node(key, "linux", { attributes: { console: "telnet" }, start })) });

/** Reads the console until the node has identified itself. Returns the output. */
async function answer(from: EveBench, name: string): Promise<Buffer> {
  const id = (await from.session.observe("/two"))?.nodes.find((one) => one.name === name)?.id ?? "";
  const { stream } = await from.session.console("/two", id);
  let said = Buffer.alloc(0);
  stream.on("data", (chunk: Buffer) => {
    said = Buffer.concat([said, chunk]);
  });
  stream.write("who\r");
  await expect.poll(() => said.toString("latin1")).toContain(`this is ${name}`);
  stream.destroy();
  return said;
}

describe.each(["ce5", "ce6", "pro", "pnetlab"] as const)("a console on %s", (edition) => {
  it("is found at its port again after each start, and its output has no telnet commands", async () => {
    bench = await eveBench({ edition, console: (line, { name }) => (line === "who" ? `this is ${name}` : undefined) });
    const { fake, make } = bench;
    const ports: number[] = [];
    for (let times = 0; times < 2; times++) {
      await make("/two", two(true));
      const { port = 0, node = 0, tenant = 0 } = fake.running().find(({ name }) => name === "l2") ?? {};
      ports.push(port);
      if (edition === "ce5" || edition === "ce6") expect(port).toBe(communityPort(tenant, node));
      expect((await answer(bench, "l2")).includes(0xff)).toBe(false);
      await make("/two", two(false));
    }
    expect(ports[0] === ports[1]).toBe(edition === "ce5" || edition === "ce6");
  });
});
