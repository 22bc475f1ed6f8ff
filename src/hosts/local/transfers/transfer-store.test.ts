import { access, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openTrash } from "../files/trash.ts";
import { TransferStore } from "./transfer-store.ts";

let top: string;
let store: TransferStore;

beforeAll(async () => {
  top = await mkdtemp(join(tmpdir(), "labwright-transfers-"));
  store = await open();
});
afterAll(() => rm(top, { recursive: true }));

const open = async () => TransferStore.open(join(top, "transfers"), await openTrash(join(top, "trash"), () => undefined));

const kept = async (user: string): Promise<string> => {
  const { id } = await store.begin(user);
  await store.keep({ version: 1, id, direction: "export", user, lab: "/site", begun: Date.now(), disks: [] });
  return id;
};

test("a transfer is for its user alone, and in its direction", async () => {
  const id = await kept("ann");
  expect(await store.get("ann", id)).toMatchObject({ lab: "/site" });
  await expect(store.get("bob", id)).rejects.toMatchObject({ code: "disks_not_found" });
  await expect(store.get("ann", id, "import")).rejects.toMatchObject({ code: "disks_not_found" });
  await expect(store.get("ann", "../../etc")).rejects.toMatchObject({ code: "disks_not_found" });
});

test("a damaged record ends its own transfer, and no other", async () => {
  const [damaged, whole] = [await kept("eve"), await kept("eve")];
  for (const text of ["{", "null", '{"version": 2}']) {
    await writeFile(join(store.directory(damaged), "transfer.json"), text);
    await expect(store.get("eve", damaged)).rejects.toMatchObject({ code: "disks_not_found" });
    expect((await store.of("eve")).map(({ id }) => id)).toEqual([whole]);
  }
});

test("a fifth transfer of a user removes the oldest", async () => {
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) ids.push(await kept("carl"));
  await expect(store.get("carl", ids[0]!)).rejects.toMatchObject({ code: "disks_not_found" });
  expect(new Set((await store.of("carl")).map(({ id }) => id))).toEqual(new Set(ids.slice(1)));
});

test("a copy that a killed service had not finished is removed at the next start, and finished ones stay", async () => {
  const whole = await kept("dora");
  const { id, directory } = await store.begin("dora");
  await writeFile(join(directory, "0"), "half of a disk");
  const next = await open();
  expect((await next.of("dora")).map((one) => one.id)).toEqual([whole]);
  await expect(access(join(top, "transfers", id))).rejects.toMatchObject({ code: "ENOENT" });
});
