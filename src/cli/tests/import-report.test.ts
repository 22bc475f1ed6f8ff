import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { labSource, reportFileOf } from "../command/lab-source.ts";
import { UsageError } from "../command/usage-error.ts";
import { showSource } from "../show/show-status.ts";

test("an import report is beside its lab, and a lab without one has no source", async () => {
  const folder = await mkdtemp(join(tmpdir(), "lw-source-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, "campus.lw.yml");
  expect([reportFileOf("a/campus.lw.yml"), reportFileOf("lab.yaml"), reportFileOf("x.clab.yml")]).toEqual([
    "a/campus.import.json",
    "lab.import.json",
    "x.import.json",
  ]);
  expect([await labSource(undefined), await labSource({ path })]).toEqual([{}, {}]);
  await writeFile(join(folder, "campus.import.json"), '{"format": "eve"}');
  expect(await labSource({ path })).toEqual({ source: { format: "eve" } });
  await writeFile(join(folder, "campus.import.json"), "{");
  await expect(labSource({ path })).rejects.toThrow(UsageError);
});

test("a report lists dropped parts first, with their places", () => {
  const report = [
    { file: "a.unl", path: "/lab/@name", line: 2, level: "kept", message: "the name" },
    { path: "", level: "dropped", message: "has no counterpart here" },
  ] as const;
  const source = { format: "eve", lab: "a.unl", counts: { kept: 4, mapped: 0, dropped: 1 }, report, report_left_out: 3 };
  expect(showSource("/campus", source)).toBe(
    "/campus was imported from a.unl (eve)\n4 kept, 0 mapped, 1 dropped\n  dropped /: has no counterpart here\n" +
      "  a.unl:2: kept /lab/@name: the name\n3 more lines are not stored: labwright import-file --report shows them",
  );
  expect(showSource("/campus", undefined)).toContain("no import report");
});
