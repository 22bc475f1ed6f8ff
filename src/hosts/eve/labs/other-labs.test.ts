import { expect, it, vi } from "vitest";
import { Failure } from "../../../contract/errors.ts";
import type { EveAccount } from "../account/account.ts";
import type { EveCall } from "../api/eve-call.ts";
import { OtherLabs } from "./other-labs.ts";

const waits = new Failure("host_timeout", "no answer within 5 s");
const tooMuch = new Failure("host_error", "the host sent too much");

/** A host with these labs: the names of nodes, or the failure of each read of the lab. */
function hostWith(labs: Readonly<Record<string, readonly string[] | Failure | "hangs">>): {
  readonly account: EveAccount;
  readonly calls: () => readonly string[];
} {
  let calls: EveCall[] = [];
  const files = Object.keys(labs).map((path) => ({ path: `${path}.unl`, umtime: 1 }));
  const success = (data: unknown) => ({ status: 200, message: "", word: "success", broken: false, data });
  const call = async (one: EveCall) => {
    calls.push(one);
    if (one.path.startsWith("/api/folders")) return success({ folders: [], labs: files });
    // Each read of another user's lab is limited.
    expect([one.timeoutMs, one.maxBytes]).toEqual([5_000, 4 * 1024 * 1024]);
    const [, path = "", part = ""] = /^\/api\/labs(.*)\.unl(.*)$/.exec(one.path) ?? [];
    const lab = labs[path];
    if (lab === "hangs") return await new Promise<never>((_resolve, reject) => setTimeout(() => reject(waits), one.timeoutMs));
    if (lab === undefined || lab instanceof Failure) throw lab;
    if (part === "") return success({ id: `id of ${path}` });
    return success(part === "/nodes" ? lab.map((name, index) => ({ id: index + 1, name, status: 0 })) : []);
  };
  const peek = (path: string, limits: object) => call({ path, read: true, ...limits });
  return {
    account: { user: "ann", call, peek } as unknown as EveAccount,
    calls: () => {
      const before = calls.map(({ path }) => path);
      calls = [];
      return before;
    },
  };
}

it("labs that are too large or slow to read are left out, and not read again at once", async () => {
  const { account, calls } = hostWith({ "/big": tooMuch, "/fine": ["r1"], "/slow": waits });
  const others = new OtherLabs();
  const numbers = async () => [...(await others.taken(account, "/mine")).nodes];
  expect(await numbers()).toEqual([1]);
  expect(calls()).toHaveLength(7);
  expect(await numbers()).toEqual([1]);
  expect([...(await others.running(account))]).toEqual([]);
  expect(await others.pathOf(account, "id of /fine", 0)).toBe("/fine");
  // Only the id of the readable lab is new.
  expect(calls().filter((path) => !path.startsWith("/api/folders"))).toEqual(["/api/labs/fine.unl/nodes", "/api/labs/fine.unl"]);
});

it("a status waits 3 s for other labs, however many hang, and the next ones continue where it ended", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  try {
    const hanging = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`/a${index}`, "hangs" as const]));
    const { account } = hostWith({ ...hanging, "/z": ["r1"] });
    const others = new OtherLabs();
    const ask = async () => {
      const began = performance.now();
      const asked = others.namesakes(account, "/mine", new Set([1]), 10_000);
      let seen: Awaited<typeof asked> | undefined;
      void asked.then((answer) => {
        seen = answer;
      });
      while (seen === undefined) await vi.advanceTimersByTimeAsync(250);
      return { ...seen, ms: performance.now() - began };
    };
    const first = await ask();
    expect(first.isComplete).toBe(false);
    let last = first;
    let asked = 1;
    for (; !last.isComplete && asked < 30; asked++) {
      last = await ask();
      expect(last.ms).toBeLessThanOrEqual(3_250);
    }
    expect(last.isComplete).toBe(true);
    expect(last.found.get(1)).toEqual([{ lab: "/z", node: "r1" }]);
  } finally {
    vi.useRealTimers();
  }
});
