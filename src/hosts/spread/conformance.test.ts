import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Duplex, PassThrough, Readable } from "node:stream";
import { hostConformance } from "../conformance/conformance.ts";
import type { Host, HostSession } from "../host.ts";
import type { PartCalls } from "../host-fleet.ts";
import { memoryHost } from "../memory/memory-host.ts";
import { spreadHost } from "./spread-host.ts";

/** Every lab of the suite is spread over three hosts in memory, which are called as machines of a fleet are, without the network between them. */
hostConformance("a lab over three machines", async () => {
  const directory = await mkdtemp(join(tmpdir(), "labwright-spread-"));
  const hosts = new Map<number, Host>();
  let next = 8_388_608;
  const callsOf = (from: number): PartCalls => ({
    open: async (machine, call, signal) => {
      const input = new PassThrough();
      const sent = JSON.parse(JSON.stringify(call)) as typeof call;
      const { facts, body } = await hosts.get(machine)!.parts!.answer(from, sent, input, signal ?? new AbortController().signal);
      return { facts, stream: Duplex.from({ readable: body ?? Readable.from([], { objectMode: false }), writable: input }) };
    },
  });
  for (const own of [1, 2, 3]) {
    const machines = [1, 2, 3].map((number) => ({
      number,
      name: `m${number}`,
      labels: {},
      answers: true,
      isOpen: true,
      room: 10_000,
      underlay: { address: `192.0.2.${number}`, mtu: 9_000 },
    }));
    const takeVnis = async (count: number) => Array.from({ length: count }, () => next++);
    const options = {
      own,
      calls: callsOf(own),
      machines: () => machines,
      takeVnis,
      idMark: `000${own}`,
      recorded: [],
      parts: [],
      warn: () => undefined,
    };
    hosts.set(own, spreadHost(memoryHost(), { ...options, directory: join(directory, String(own)) }));
  }
  const home = hosts.get(1)!;
  return {
    host: { ...home, login: async (...account) => spreading(await home.login(...account)) },
    user: "admin",
    password: "admin",
    close: async () => {
      for (const host of hosts.values()) await host.close();
      await rm(directory, { recursive: true });
    },
  };
});

/** Makes each lab as one with `place: spread`. */
function spreading(session: HostSession): HostSession {
  return {
    ...session,
    apply: (path, operations, progress) =>
      session.apply(
        path,
        operations.map((operation) =>
          operation.step.do === "create-lab"
            ? { ...operation, step: { ...operation.step, lab: { ...operation.step.lab, place: { spread: "nodes" } } } }
            : operation,
        ),
        progress,
      ),
  };
}
