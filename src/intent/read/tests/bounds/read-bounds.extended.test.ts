import { describe, expect, test } from "vitest";
import { readIntent } from "../../read.ts";
import { within } from "./read-bounds.fixture.ts";

describe("work is bounded", () => {
  test("for a large map that many nodes inherit", () => {
    const variables = Array.from({ length: 3000 }, (_, index) => `V${index}: a`).join(", ");
    const nodes = Array.from({ length: 3000 }, (_, index) => `  n${index}: {env: {O: b}}`).join("\n");
    within(15_000, `name: x\ndefaults: {template: pc, env: {${variables}}}\nnodes:\n${nodes}\n`, "too_large");
  });

  test("for thousands of typos among thousands of names", () => {
    const word = "abcdefghij".repeat(5);
    const name = (index: number) => `${word}${String(index).padStart(6, "0")}`;
    const nodes = Array.from({ length: 2000 }, (_, index) => `  ${name(index)}x: {}`).join("\n");
    const links = Array.from({ length: 3000 }, (_, index) => `  - ["${name(index)}y:e0", "${name(index)}z:e1"]`).join("\n");
    within(4000, `name: x\ndefaults: {template: pc}\nnodes:\n${nodes}\nlinks:\n${links}\n`, "unknown_node");
  });

  test("for keys and values of megabytes, which no message repeats", () => {
    const long = "k".repeat(4_000_000);
    within(4000, `name: x\nnodes: {"${long}": {template: "${long}"}}\n`, "invalid_name");
    const { diagnostics } = readIntent(`name: x\nnodes: {"${long}": {template: "${long}"}}\n`);
    expect(JSON.stringify(diagnostics).length).toBeLessThan(20_000);
  });

  test("for a folder of thousands of files in many nodes", () => {
    const files = Object.fromEntries(Array.from({ length: 49_000 }, (_, index) => [`d/${index}`, ""]));
    const nodes = Array.from({ length: 400 }, (_, index) => `  n${index}: {template: linux, files: {/x: {from: d}}}`).join("\n");
    const started = process.cpuUsage();
    const { diagnostics } = readIntent(`name: x\nnodes:\n${nodes}\n`, files);
    expect(new Set(diagnostics.map(({ code }) => code))).toEqual(new Set(["too_large"]));
    // To search all files for each node took 30 seconds.
    expect(process.cpuUsage(started).user / 1e6).toBeLessThan(5);
  });

  test("for a large text that many nodes have: from a file, or by inheritance or aliases", () => {
    const nodes = (fields: string) => Array.from({ length: 1000 }, (_, index) => `  n${index}: {template: linux${fields}}\n`).join("");
    const long = "a".repeat(1_000_000);
    const codes = (yaml: string) => readIntent(yaml, { f: long, "x.conf": long }).diagnostics.map(({ code }) => code);
    for (const fields of [", files: {/x: {from: f}}", ", binds: ['f:/x']", ", startup-config: f", ", startup-config: x.conf"]) {
      expect([fields, codes(`name: x\nnodes:\n${nodes(fields)}`)]).toEqual([fields, ["too_large"]]);
    }
    for (const fields of [`exec: [${long}]`, `env: {A: ${long}}`, `labels: {a: ${long}}`, "startup-config: f", `files: {/x: ${long}}`]) {
      expect(codes(`name: x\ndefaults: {${fields}}\nnodes:\n${nodes("")}`), fields.slice(0, 20)).toEqual(["too_large"]);
    }
    const texts = Array.from({ length: 1000 }, () => "  - {text: *a, x: 1, y: 1}\n").join("");
    expect(codes(`name: x\ndescription: &a ${long}\nnodes: {}\ntexts:\n${texts}`)).toEqual(["too_large"]);
    expect(codes(`name: x\nnodes:\n${nodes(", files: {/x: {from: f}}").split("\n").slice(0, 30).join("\n")}\n`)).toEqual([]);
  });

  test("for a file full of mistakes", () => {
    within(10_000, `name: x\n${Array.from({ length: 20_000 }, (_, index) => `wrong${index}: 1\n`).join("")}`, "too_many_problems");
  });
});

test("the time to read a lab grows linearly with its size", () => {
  const ring = (count: number) => {
    const nodes = Array.from({ length: count }, (_, index) => `  r${index}: {template: frr, position: {x: ${index}, y: 1}}`);
    const links = Array.from({ length: count }, (_, index) => `  - ["r${index}:eth1", "r${(index + 1) % count}:eth2"]`);
    return `name: big\nnodes:\n${nodes.join("\n")}\nlinks:\n${links.join("\n")}\n`;
  };
  // The best of three, because other tests may run at the same time.
  const best = (count: number) => {
    const yaml = ring(count);
    const times = [1, 2, 3].map(() => {
      const { user, system } = process.cpuUsage();
      expect(readIntent(yaml).lab?.links.length).toBe(count);
      const after = process.cpuUsage();
      return after.user + after.system - user - system;
    });
    return Math.min(...times);
  };
  best(500); // compiled
  // Ten times the lab: a quadratic reader would take a hundred times as long.
  expect(best(5000) / best(500)).toBeLessThan(40);
});
