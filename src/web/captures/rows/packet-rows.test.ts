import { expect, test } from "vitest";
import type { CapturePacketRow, CapturePacketsData } from "../../../contract/schemas/captures.ts";
import { type AskPackets, PacketRows, type PacketRowsQuery } from "./packet-rows.ts";

const rowOf = (number: number): CapturePacketRow => ({
  number,
  at: "2026-01-01T00:00:00.000000Z",
  from: "10.0.0.1",
  to: "10.0.0.2",
  protocols: ["eth"],
  length: 60,
  summary: `packet ${number}`,
});

/** A capture whose filter is a number as text: "3" matches every third packet. */
class Capture {
  total: number;
  view = "1";
  readonly queries: PacketRowsQuery[] = [];
  readonly ask: AskPackets = async (query) => {
    this.queries.push(query);
    const step = Number(query.filter || "1");
    if (Number.isNaN(step)) throw new Error("invalid filter");
    const numbers = Array.from({ length: this.total }, (_, at) => at + 1).filter((number) => number % step === 0);
    const packets = numbers.slice(query.skip, query.skip + query.limit).map(rowOf);
    return { capture: "c", view: this.view, total: this.total, matching: numbers.length, packets } satisfies CapturePacketsData;
  };

  constructor(total: number) {
    this.total = total;
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("only the visible rows and the rows near them are fetched", async () => {
  const capture = new Capture(10_000);
  const rows = new PacketRows("", capture.ask, () => undefined);
  await rows.poll();
  expect([rows.total, rows.count]).toEqual([10_000, 10_000]);
  rows.show(5_150, 5_250);
  await settled();
  expect(capture.queries.map(({ skip }) => skip)).toEqual([0, 5_000, 5_200]);
  expect(rows.row(5_249)?.number).toBe(5_250);
  expect(rows.row(6_000)).toBeUndefined();
  rows.show(5_160, 5_240);
  await settled();
  expect(capture.queries).toHaveLength(3);
  rows.show(5_210, 5_260);
  await settled();
  expect(capture.queries.slice(3).map(({ skip }) => skip)).toEqual([5_400]);
});

test("new packets are read by one request for the last chunk", async () => {
  const capture = new Capture(450);
  const rows = new PacketRows("", capture.ask, () => undefined);
  await rows.poll();
  rows.show(400, 450);
  await settled();
  expect(rows.row(449)?.number).toBe(450);
  capture.queries.length = 0;
  capture.total = 470;
  await rows.poll();
  expect(capture.queries).toEqual([{ skip: 400, limit: 200, filter: "" }]);
  expect([rows.count, rows.row(469)?.number]).toEqual([470, 470]);
});

test("a filter counts the matching packets", async () => {
  const capture = new Capture(1_000);
  const rows = new PacketRows("3", capture.ask, () => undefined);
  await rows.poll();
  expect([rows.total, rows.count, rows.row(0)?.number]).toEqual([1_000, 333, 3]);
  rows.show(320, 340);
  await settled();
  expect(rows.row(332)?.number).toBe(999);
  await expect(new PacketRows("wrong", capture.ask, () => undefined).poll()).rejects.toThrow("invalid filter");
});

test("rows of before are dropped when the packets are renumbered", async () => {
  const capture = new Capture(400);
  const rows = new PacketRows("", capture.ask, () => undefined);
  await rows.poll();
  rows.show(0, 50);
  await settled();
  expect(rows.row(0)?.number).toBe(1);
  capture.view = "2";
  capture.total = 250;
  await rows.poll();
  expect([rows.view, rows.count]).toEqual(["2", 250]);
  await settled();
  expect(rows.row(0)?.number).toBe(1);
  expect(rows.row(300)).toBeUndefined();
});

test("the number of cached rows is limited, however far the list is scrolled", async () => {
  const rows = new PacketRows("", new Capture(40_000).ask, () => undefined);
  await rows.poll();
  for (let first = 0; first < 40_000; first += 200) {
    rows.show(first, first + 40);
    await settled();
  }
  const cached = Array.from({ length: 40_000 }, (_, index) => rows.row(index)).filter((row) => row !== undefined);
  expect(cached.length).toBeLessThanOrEqual(12_000);
  expect(rows.row(39_839)?.number).toBe(39_840);
});

test("a failed request sets the error, and retry reads the rows", async () => {
  const capture = new Capture(1_000);
  let broken = false;
  let changes = 0;
  const ask: AskPackets = (query, signal) => (broken ? Promise.reject(new Error("no connection")) : capture.ask(query, signal));
  const rows = new PacketRows("", ask, () => changes++);
  await rows.poll();
  broken = true;
  rows.show(500, 540);
  await settled();
  expect(rows.error).toEqual(new Error("no connection"));
  expect(changes).toBe(2);
  broken = false;
  rows.retry();
  await settled();
  expect([rows.error, rows.row(500)?.number]).toEqual([undefined, 501]);
});
