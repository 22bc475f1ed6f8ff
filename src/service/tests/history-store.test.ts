import { createHash } from "node:crypto";
import { afterEach, expect, test } from "vitest";
import { sqliteStore } from "../store/sqlite.ts";

const store = sqliteStore(":memory:");
const row = (serial: number) => ({ identity: "a", serial, at: serial, nodes: 1, links: 0, digest: String(serial) });
const serials = async () => (await store.history.list("a")).map(({ serial }) => serial);
/** Text that is not compressed to less. */
const noise = (bytes: number) => createHash("shake256", { outputLength: bytes }).digest("base64");

afterEach(() => store.history.forgetAfter("a", 0));

test("the newest 50 states of a lab are kept", async () => {
  for (let serial = 1; serial <= 60; serial += 1) await store.history.add(row(serial), { yaml: `name: a${serial}`, files: {} });
  await store.history.add({ ...row(1), identity: "b" }, { yaml: "name: b", files: {} });
  const kept = await serials();
  expect([kept.length, kept[0], kept.at(-1)]).toEqual([50, 60, 11]);
  expect(await store.history.text("a", 11)).toEqual({ yaml: "name: a11", files: {} });
  expect(await store.history.list("b")).toHaveLength(1);
});

test("the texts of a lab's states are limited together, and a text that would need all of the room is not kept", async () => {
  const yaml = noise(1_050_000);
  for (let serial = 1; serial <= 5; serial += 1) await store.history.add(row(serial), { yaml, files: {} });
  expect(await serials()).toEqual([5, 4, 3]);
  await store.history.add(row(6), { yaml: "x".repeat(5_000_000), files: {} });
  expect((await store.history.list("a"))[0]).toMatchObject({ serial: 6, hasText: false });
  expect([await store.history.text("a", 6), (await store.history.text("a", 5))?.yaml.length]).toEqual([undefined, yaml.length]);
});

test("a state replaces those of its serial and later, and of its job: a change that was repeated after a crash", async () => {
  for (const serial of [1, 2, 3]) await store.history.add(row(serial), { yaml: "name: a", files: {} });
  await store.history.add({ ...row(2), job: "j1" }, { yaml: "name: second", files: {} });
  await store.history.add({ ...row(3), job: "j1" }, { yaml: "name: third", files: {} });
  expect(await serials()).toEqual([3, 1]);
});
