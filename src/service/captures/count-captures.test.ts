import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { Failure } from "../../contract/errors.ts";
import type { MachineCall } from "../common/fleet-calls.ts";
import { answerCount, capturesElsewhere } from "./count-captures.ts";

const records = ["/here", "/there", "/also-there", "/far", "/old"].map((path) => ({ path, owner: "ann" }));
const owners = new Map([
  ["/here", 1],
  ["/there", 2],
  ["/also-there", 2],
  ["/far", 3],
  ["/old", 4],
]);
const store = {
  labs: { list: () => records },
  shared: {
    machines: {
      own: 1,
      knownOwner: (path: string) => owners.get(path),
      elsewhere: (path: string) => (owners.get(path) === 1 ? undefined : owners.get(path)),
    },
  },
};

test("captures of labs on other machines are counted there, with one call to each; a machine that is away or older counts none", async () => {
  const calls: (readonly [number, unknown])[] = [];
  const fleet = {
    call: async (machine: number, { args }: MachineCall) => {
      calls.push([machine, args]);
      if (machine === 3) throw new Failure("machine_unreachable", "far does not answer");
      if (machine === 4) throw new Failure("unsupported", "this machine has another release");
      return { facts: 3, body: Readable.from([]) };
    },
  };
  expect(await capturesElsewhere({ store, fleet } as never, records as never)).toBe(3);
  expect(calls).toEqual([
    [2, { labs: ["/there", "/also-there"] }],
    [3, { labs: ["/far"] }],
    [4, { labs: ["/old"] }],
  ]);
  const broken = { call: async () => Promise.reject(new Failure("internal", "a defect")) };
  await expect(capturesElsewhere({ store, fleet: broken } as never, records as never)).rejects.toThrow("a defect");
  expect(await capturesElsewhere({ store, fleet: undefined } as never, records as never)).toBe(0);
});

test("a machine counts the captures of its own labs only, and refuses a call without labs", async () => {
  const asked: string[] = [];
  let closed = 0;
  const session = {
    captures: {
      list: async (path: string) => {
        asked.push(path);
        return [{}, {}];
      },
    },
    close: async () => void closed++,
  };
  const context = { store, sessions: { resume: async () => session } } as never;
  const answer = await answerCount(context, { name: "countCaptures", args: { labs: ["/here", "/there", "/none"] } });
  expect(answer?.facts).toBe(2);
  expect([asked, closed]).toEqual([["/here"], 1]);
  await expect(answerCount(context, { name: "countCaptures", args: { labs: "/here" } })).rejects.toMatchObject({ code: "bad_request" });
  expect(await answerCount(context, { name: "imagePart", args: {} })).toBeUndefined();
});
