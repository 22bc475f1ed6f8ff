import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { Failure } from "../../contract/errors.ts";
import { removeMachine } from "./machines.ts";

test("the removal of a machine asks it for its parts: a lab may be younger than its last report", async () => {
  const row = (number: number, name: string, reported?: number) => ({
    ...{ number, name, url: "", state: "active", labels: {}, joinedAt: 0, seenAt: 0, silentMs: 0 },
    facts: { version: "1", processors: 1, load: 0, memory: 1, availableMemory: 1, ...(reported !== undefined && { parts: reported }) },
  });
  const removed: string[] = [];
  const machines = {
    own: 1,
    list: () => [row(1, "one"), row(2, "other", 1)],
    knownOwner: () => undefined,
    remove: async (name: string) => void removed.push(name),
  };
  let answer: () => number = () => 2;
  const fleet = { problem: async () => undefined, call: async () => ({ facts: answer(), body: Readable.from([]) }) };
  const context = { store: { labs: { list: () => [] }, shared: { machines } }, fleet, log: () => undefined } as never;
  const remove = (force?: true) =>
    removeMachine(context, { user: "admin", role: "admin", session: "s" }, { name: "other", ...(force && { force }) });
  await expect(remove()).rejects.toThrow("other answers and has nodes of 2 labs that are spread over machines");
  // An older release: its report counts.
  answer = () => {
    throw new Failure("unsupported", "this machine has another release");
  };
  await expect(remove()).rejects.toThrow("has nodes of a lab that is spread");
  expect(removed).toEqual([]);
  answer = () => 0;
  await remove();
  expect(removed).toEqual(["other"]);
});
