import { expect, test } from "vitest";
import { referencedFiles } from "./references.ts";

test("files of nodes and of the maps they inherit from are found, in both layouts of the file", () => {
  const sections = (indent: string) =>
    ["defaults: {startup-config: d.conf}", "kinds: {router: {startup-config: ./k//r.conf}}", "groups: {g: {startup-config: g.conf}}"]
      .concat(["nodes: {r1: {startup-config: a.conf}, r2: {startup-config: a.conf}, r3: {}, r4: }"])
      .map((line) => `${indent}${line}`)
      .join("\n");
  expect(referencedFiles(`name: x\n${sections("")}`)).toEqual(["a.conf", "d.conf", "g.conf", "k/r.conf"]);
  expect(referencedFiles(`name: x\ntopology:\n${sections("  ")}`)).toEqual(["a.conf", "d.conf", "g.conf", "k/r.conf"]);
});

test("a text, an outside path and a broken document name no file", () => {
  expect(
    referencedFiles('nodes: {a: {startup-config: "hostname a\\n"}, b: {startup-config: {text: one}}, c: {startup-config: ../c}}'),
  ).toEqual([]);
  expect(referencedFiles("nodes: {a: {startup-config: /etc/passwd}}")).toEqual([]);
  expect(referencedFiles("nodes: [")).toEqual([]);
  expect(referencedFiles("")).toEqual([]);
});
