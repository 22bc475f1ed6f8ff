import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { diagnosticCodes } from "./diagnostics/codes.ts";
import { showDiagnostics } from "./diagnostics/show.ts";
import { qualityPresets } from "./lab/quality.ts";
import { readIntent } from "./read/read.ts";

const page = readFileSync(new URL("../../docs/intent.md", import.meta.url), "utf8");

const labs = [...page.matchAll(/^```yaml lab(?: files=(\S+))?\n(.*?)^```$/gms)].map(([, files = "", yaml = ""]) => ({ files, yaml }));

test("the page contains labs", () => {
  expect(labs.length).toBeGreaterThan(3);
});

test.each(labs)("the lab on the page is valid: $yaml", ({ files, yaml }) => {
  const given = Object.fromEntries(files.split(",").flatMap((file) => (file === "" ? [] : [[file, "hostname r1\n"]])));
  const { diagnostics } = readIntent(yaml, given);
  expect(showDiagnostics(diagnostics, { yaml })).toBe("");
});

test("the diagnostic on the page is the one that the program shows", () => {
  const yaml = "name: x\nnodes:\n  r1: {template: frr, imgae: a}\n";
  expect(page).toContain(showDiagnostics(readIntent(yaml).diagnostics, { yaml }));
});

test("the page and the table have the same codes and meanings, in the same order", () => {
  const rows = [...page.slice(page.indexOf("| code | when |")).matchAll(/^\| ([a-z_]+) \| (.*) \|$/gm)].map(([, code, when]) => [
    code,
    when,
  ]);
  expect(rows.filter(([code]) => code !== "code")).toEqual(Object.entries(diagnosticCodes));
});

test("the page and the table have the same presets", () => {
  const rows = [...page.matchAll(/^\| (\S+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$/gm)];
  const presets = rows.map(([, name, ...values]) => {
    const [delay, jitter, loss, bandwidth] = values.map(Number);
    return [name, { delay, jitter, loss, bandwidth }];
  });
  expect(Object.fromEntries(presets)).toEqual(qualityPresets);
});
