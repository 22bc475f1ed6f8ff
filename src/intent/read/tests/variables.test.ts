// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to variables have this syntax

import fc from "fast-check";
import { expect, test } from "vitest";
import { editIntent } from "../../edit/edit.ts";
import type { Lab } from "../../lab/lab.ts";
import { referencedFiles } from "../../parse/references.ts";
import { labNameIn, readIntent } from "../read.ts";

const lab = `name: \${site}-core
vars:
  site: berlin   # our site
  size: 256
  up: false
nodes:
  r1: {template: frr, ram: "\${size}", start: "\${up}", exec: ["echo $\${HOME} \${site}", "echo $HOME"]}
  r2: {template: frr, ram: "\${size}"}
links:
  - ["r1:eth1", "r2:eth1"]
`;

function read(yaml: string): Lab {
  const { lab: result, diagnostics } = readIntent(yaml);
  expect(diagnostics).toEqual([]);
  return result as Lab;
}

const problems = (yaml: string) => readIntent(yaml).diagnostics.map(({ code, line, path, hint }) => ({ code, line, path, hint }));

test("references have the type of their variable, and $${ is plain text", () => {
  const { name, nodes } = read(lab);
  expect(name).toBe("berlin-core");
  expect(nodes[0]).toMatchObject({ ram: 256, start: false, exec: ["echo ${HOME} berlin", "echo $HOME"] });
  expect(labNameIn(lab)).toBe("berlin-core");
});

test("a lab with variables is the lab that is written without them", () => {
  const plain = fc.string({ unit: fc.constantFrom("a", "$", "{", "}", " ", "\\", "7"), minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(plain, plain, (value, rest) => {
      const variable = value.replaceAll("${", "$");
      const around = rest.replaceAll("{", "(");
      const body = (text: string) => `nodes: {r1: {template: frr, env: {A: ${JSON.stringify(text)}}}}\n`;
      const helped = readIntent(`name: x\nvars: {v: ${JSON.stringify(variable)}}\n${body(`${around.replace(/\$+$/, "")}-\${v}${around}`)}`);
      expect(helped).toEqual(readIntent(`name: x\n${body(`${around.replace(/\$+$/, "")}-${variable}${around}`)}`));
    }),
  );
});

test("${…} is plain text in a lab without vars", () => {
  expect(read('name: x\nnodes: {r1: {template: frr, exec: ["echo ${HOME} ${a:-b}"]}}\n').nodes[0]?.exec).toEqual(["echo ${HOME} ${a:-b}"]);
});

test("mistakes are reported at their line of the source", () => {
  expect(problems(lab.replace('r2: {template: frr, ram: "${size}"}', 'r2: {template: frr, ram: "${siez}"}'))).toEqual([
    { code: "unknown_variable", line: 8, path: "/nodes/r2/ram", hint: 'did you mean "size"?' },
  ]);
  expect(problems(lab.replace("size: 256", "size: [1]"))[0]).toMatchObject({ code: "wrong_type", line: 4, path: "/vars/size" });
  expect(problems(lab.replace("size: 256", "size: much"))[0]).toMatchObject({ line: 7, path: "/nodes/r1/ram" });
  expect(problems(lab.replace("$${HOME}", "${1..4}"))[0]).toMatchObject({ code: "invalid_value", line: 7 });
  expect(problems(lab.replace("berlin ", '"${size}" '))[0]).toMatchObject({ code: "invalid_value", line: 3, path: "/vars/site" });
});

test("files of variables win over vars, and their mistakes have the place in the file", () => {
  const yaml =
    "name: x\nvars: {site: a, n: 1}\nvars-files: [common.yaml, dir/own.yaml]\nnodes: {r1: {template: frr, startup-config: 'c/${site}.conf', cpu: '${n}'}}\n";
  const files = { "common.yaml": "site: b\nn: 2\n", "dir/own.yaml": "# none yet\nn: 3\n", "c/b.conf": "hostname b\n" };
  expect(readIntent(yaml, files).lab?.nodes[0]).toMatchObject({ startupConfigFile: "c/b.conf", cpu: 3 });
  expect(referencedFiles(yaml, files)).toEqual(["c/b.conf", "common.yaml", "dir/own.yaml"]);
  const wrong = readIntent(yaml, { ...files, "dir/own.yaml": "n: 3\nm: [1]\n" }).diagnostics;
  expect(wrong).toMatchObject([{ code: "wrong_type", file: "dir/own.yaml", line: 2 }]);
  expect(readIntent(yaml, {}).diagnostics.slice(0, 1)).toMatchObject([{ code: "file_not_found", line: 3 }]);
  expect(labNameIn(yaml.replace("name: x", "name: '${site}'"), files)).toBe("b");
});

test("references that make a huge text are refused", () => {
  const long = "x".repeat(1_000_000);
  const found = problems(`name: x\nvars: {v: ${long}}\nnodes: {r1: {template: frr, exec: ["${"${v}".repeat(1000)}"]}}\n`);
  expect(found.map(({ code }) => code)).toEqual(["too_large"]);
});

test("files that references name are read", () => {
  expect(referencedFiles("name: x\nvars: {s: a}\nnodes: {r1: {template: frr, startup-config: '${s}/r1.conf'}}\n")).toEqual(["a/r1.conf"]);
});

test("an edit keeps variables and comments, and changes the reference that it hits", () => {
  const before = read(lab);
  const nodes = before.nodes.map((node) => (node.key === "r2" ? { ...node, ram: 512 } : node));
  expect(editIntent(lab, {}, { ...before, nodes }).yaml).toBe(
    lab.replace('r2: {template: frr, ram: "${size}"}', "r2: {template: frr, ram: 512}"),
  );
  expect(editIntent(lab, {}, before).yaml).toBe(lab);
});

test("an edit writes any text into a lab with variables, and into a range, as it is", () => {
  const range = 'name: x\nnodes:\n  r{1..2}: {template: frr, exec: ["echo $${HOME}", b]}\n';
  const words = fc.string({ unit: fc.constantFrom("a", "$", "{", "}", "site", " "), minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(fc.constantFrom(lab, range), words, fc.boolean(), (yaml, word, isOfAll) => {
      const before = read(yaml);
      const exec = (old: readonly string[]) => [...old.slice(0, 1), `echo ${word}`];
      const nodes = before.nodes.map((node) => (isOfAll || node.key === "r1" ? { ...node, exec: exec(node.exec) } : node));
      const { yaml: text } = editIntent(yaml, {}, { ...before, nodes });
      expect(read(text).nodes).toEqual(nodes);
      expect(text).toContain("echo $${HOME}");
    }),
  );
});
