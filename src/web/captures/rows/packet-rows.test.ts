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

/** A capture whose packets a filter, a text of a number, thins out: "3" takes each third. */
class Capture {
  total: number;
  view = "1";
  readonly asked: PacketRowsQuery[] = [];
  readonly ask: AskPackets = async (query) => {
    this.asked.push(query);
    const step = Number(query.filter || "1");
    if (Number.isNaN(step)) throw new Error("a wrong filter");
    const numbers = Array.from({ length: this.total }, (_, at) => at + 1).filter((number) => number % step === 0);
    const packets = numbers.slice(query.skip, query.skip + query.limit).map(rowOf);
    return { capture: "c", view: this.view, total: this.total, matching: numbers.length, packets } satisfies CapturePacketsData;
  };

  constructor(total: number) {
    this.total = total;
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("what is looked at is fetched, and what is about to be, and nothing else", async () => {
  const capture = new Capture(10_000);
  const rows = new PacketRows("", capture.ask, () => undefined);
  await rows.look();
  expect([rows.total, rows.count]).toEqual([10_000, 10_000]);
  rows.see(5_150, 5_250);
  await settled();
  expect(capture.asked.map(({ skip }) => skip)).toEqual([0, 5_000, 5_200]);
  expect(rows.row(5_249)?.number).toBe(5_250);
  expect(rows.row(6_000)).toBeUndefined();
  rows.see(5_160, 5_240);
  await settled();
  expect(capture.asked).toHaveLength(3);
  rows.see(5_210, 5_260);
  await settled();
  expect(capture.asked.slice(3).map(({ skip }) => skip)).toEqual([5_400]);
});

test("packets that come are seen by one question for the last of them", async () => {
  const capture = new Capture(450);
  const rows = new PacketRows("", capture.ask, () => undefined);
  await rows.look();
  rows.see(400, 450);
  await settled();
  expect(rows.row(449)?.number).toBe(450);
  capture.asked.length = 0;
  capture.total = 470;
  await rows.look();
  expect(capture.asked).toEqual([{ skip: 400, limit: 200, filter: "" }]);
  expect([rows.count, rows.row(469)?.number]).toEqual([470, 470]);
});

test("a filter counts what it takes", async () => {
  const capture = new Capture(1_000);
  const rows = new PacketRows("3", capture.ask, () => undefined);
  await rows.look();
  expect([rows.total, rows.count, rows.row(0)?.number]).toEqual([1_000, 333, 3]);
  rows.see(320, 340);
  await settled();
  expect(rows.row(332)?.number).toBe(999);
  await expect(new PacketRows("wrong", capture.ask, () => undefined).look()).rejects.toThrow("a wrong filter");
});

test("when the oldest packets were dropped nothing of before is shown", async () => {
  const capture = new Capture(400);
  const rows = new PacketRows("", capture.ask, () => undefined);
  await rows.look();
  rows.see(0, 50);
  await settled();
  expect(rows.row(0)?.number).toBe(1);
  capture.view = "2";
  capture.total = 250;
  await rows.look();
  expect([rows.view, rows.count]).toEqual(["2", 250]);
  await settled();
  expect(rows.row(0)?.number).toBe(1);
  expect(rows.row(300)).toBeUndefined();
});

test("however far one scrolls, little is remembered", async () => {
  const rows = new PacketRows("", new Capture(40_000).ask, () => undefined);
  await rows.look();
  for (let first = 0; first < 40_000; first += 200) {
    rows.see(first, first + 40);
    await settled();
  }
  const known = Array.from({ length: 40_000 }, (_, index) => rows.row(index)).filter((row) => row !== undefined);
  expect(known.length).toBeLessThanOrEqual(12_000);
  expect(rows.row(39_839)?.number).toBe(39_840);
});

test("what could not be had is told, and had later", async () => {
  const capture = new Capture(1_000);
  let broken = false;
  let changes = 0;
  const ask: AskPackets = (query, signal) => (broken ? Promise.reject(new Error("no connection")) : capture.ask(query, signal));
  const rows = new PacketRows("", ask, () => changes++);
  await rows.look();
  broken = true;
  rows.see(500, 540);
  await settled();
  expect(rows.error).toEqual(new Error("no connection"));
  expect(changes).toBe(2);
  broken = false;
  rows.retry();
  await settled();
  expect([rows.error, rows.row(500)?.number]).toEqual([undefined, 501]);
});
