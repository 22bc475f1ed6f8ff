import { expect, it, vi } from "vitest";
import type { EveAccount } from "../account/account.ts";
import type { EveCall } from "../api/eve-call.ts";
import { listLabs } from "./lab-listing.ts";

/** A host with so many folders in its root folder, each with one lab. @param answerMs time of each answer, on the clock of the test */
function hostWith(count: number, answerMs = 0): { readonly account: EveAccount; calls: number } {
  const host = { account: undefined as unknown as EveAccount, calls: 0 };
  const call = async ({ path }: EveCall) => {
    host.calls++;
    if (answerMs > 0) await new Promise((resolve) => setTimeout(resolve, answerMs));
    const folder = path.slice("/api/folders".length);
    const folders = folder === "/" ? Array.from({ length: count }, (_, index) => ({ name: `f${index}`, path: `/f${index}` })) : [];
    const labs = folder === "/" ? [] : [{ path: `${folder}/lab.unl`, umtime: 1 }];
    return { status: 200, message: "", word: "success", broken: false, data: { folders, labs } };
  };
  host.account = { user: "ann", call } as unknown as EveAccount;
  return host;
}

it("callers at the same time share one walk over the folders", async () => {
  const host = hostWith(3);
  const [a, b] = await Promise.all([listLabs(host.account), listLabs(host.account)]);
  expect([a, a.labs.length, a.isComplete, host.calls]).toEqual([b, 3, true, 4]);
  await listLabs(host.account);
  expect(host.calls).toBe(8);
  const shared = listLabs(host.account);
  expect(listLabs(host.account, { fresh: true })).not.toBe(shared);
  await shared;
});

it("a walk over too many folders ends after 2,000, and is not complete", async () => {
  const host = hostWith(20_000);
  const { labs, isComplete } = await listLabs(host.account);
  expect([labs.length, isComplete, host.calls]).toEqual([1_999, false, 2_000]);
});

it("a walk over slow folders ends after 20 s, and is not complete", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "performance"] });
  try {
    const host = hostWith(1_000, 500);
    const listing = listLabs(host.account);
    await vi.advanceTimersByTimeAsync(25_000);
    const { labs, isComplete } = await listing;
    expect(isComplete).toBe(false);
    expect(labs.length).toBeLessThanOrEqual(6 * 41);
    expect(host.calls).toBeLessThanOrEqual(6 * 41 + 1);
  } finally {
    vi.useRealTimers();
  }
});
