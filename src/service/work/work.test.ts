import { expect, test } from "vitest";
import { readIntent } from "../../intent/read/read.ts";
import { isSmall } from "./work.ts";

const lab = (nodes: string, links = "") => `name: ring\nnodes:\n  ${nodes}\n${links === "" ? "" : `links:\n  - ${links}\n`}`;

test.each([
  ["a range of numbers", lab("r{1..4000}: {template: linux}")],
  ["lists whose product is large", lab("'r{a,b}{ c , d }{e,f}': {template: linux}")],
  ["a range as a quoted key with an escape", lab('"r\\x7b1\\x2e\\x2e4000}": {template: linux}')],
  ["a group of links", lab("r1: {template: linux}", "full-mesh: [r1]")],
  ["a group of links in a flow map", lab("r1: {template: linux}", '{"clos" : {spines: r1, leaves: r1}}')],
  ["a group of links as an explicit key", lab("r1: {template: linux}", "? ring # of all\n    : [r1]")],
  ["variables, which may be parts of a range", `vars: {a: "r{1.", b: ".4000}"}\n${lab("r1: {template: linux}")}`],
  ["a template of a configuration", lab("r1: {template: frr, startup-config: {template: a}}")],
  ["a template in lines of its own", lab("r1:\n    template: frr\n    startup-config: # for all\n      template: a")],
  ["a template with a tag", lab("r1: {template: frr, 'startup-config' : !!map {template: a}}")],
  ["a template whose colon is on the next line", lab('r1: {template: frr, "startup-config"\n    : {template: a}}')],
  ["routing whose colon comes after a comment", lab("r1: {template: frr, routing # of all\n    : {bgp: true}}")],
  ["pools of addresses", `addressing: true\n${lab("r1: {template: frr}")}`],
  ["routing", lab("r1: {template: frr, routing: {bgp: true}}")],
  ["anchors", lab("r1: &r {template: linux}")],
])("%s is not read in the thread of the service", (_name, yaml) => {
  expect(isSmall(yaml, {})).toBe(false);
});

test("texts of nothing but the beginnings of lists and groups are judged in linear time", () => {
  const texts = [
    `# {${",".repeat(20_000)}`,
    `# ${"{,".repeat(10_000)}`,
    `# ${"ring ".repeat(4_000)}`,
    `# ${"startup-config ".repeat(1_500)}`,
  ];
  for (const text of texts) {
    const begin = process.cpuUsage();
    isSmall(text, {});
    const { user } = process.cpuUsage(begin);
    // Quadratic time takes half a second.
    expect([text.slice(0, 20), user < 200_000]).toEqual([text.slice(0, 20), true]);
  }
});

test("an ordinary lab is, with flow maps, lists, questions and the words of groups", () => {
  const yaml = lab('r1: {template: linux, exec: ["echo ../a, b"], labels: {star-type: "x", role: ring}}', '["r1:eth1", "lan"]');
  expect(readIntent(`${yaml}networks: {lan: {}}\n`).diagnostics).toEqual([]);
  expect(isSmall(yaml, {})).toBe(true);
});
