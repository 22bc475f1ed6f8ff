import { describe, expect, test } from "vitest";
import { readIntent } from "../read.ts";

const files = { "conf/r1.conf": "hostname r1\n", "conf/daemons": "bgpd=yes\n", "other.conf": "hostname other\n" };

function read(fields: string) {
  const { lab, diagnostics } = readIntent(`name: t\nnodes:\n  r1: {${fields}}\n`, files);
  return { node: lab?.nodes[0], problems: diagnostics.map(({ severity, code, message }) => `${severity} ${code}: ${message}`) };
}

describe("the configuration file of a router", () => {
  test.each([
    ["a bind of containerlab", 'template: frr, binds: ["conf/r1.conf:/etc/frr/frr.conf:ro"]', "conf/r1.conf"],
    ["a file", "template: frr, files: {/etc/frr/frr.conf: {from: conf/r1.conf, owner: frr}}", "conf/r1.conf"],
    ["a text", 'template: frr, files: {/etc/frr/frr.conf: "hostname r1\\n"}', undefined],
  ])("is its startup-config: %s", (_what, fields, from) => {
    const { node, problems } = read(fields);
    expect(problems).toEqual([]);
    expect([node?.startupConfig, node?.startupConfigFile, node?.files]).toEqual(["hostname r1\n", from, undefined]);
  });

  test("has no effect beside a startup-config, with a warning", () => {
    const { node, problems } = read('template: frr, startup-config: other.conf, binds: ["conf/r1.conf:/etc/frr/frr.conf"]');
    expect(node?.startupConfig).toBe("hostname other\n");
    expect(node?.files).toBeUndefined();
    expect(problems).toEqual([
      "warning ignored_key: the file /etc/frr/frr.conf has no effect, because the node has a startup-config, which becomes this file",
    ]);
  });

  test("is a file like others in nodes of other templates", () => {
    const { node, problems } = read('template: linux, binds: ["conf/r1.conf:/etc/frr/frr.conf"]');
    expect([node?.startupConfig, Object.keys(node?.files ?? {}), problems]).toEqual([undefined, ["/etc/frr/frr.conf"], []]);
  });

  test("/etc/frr/daemons chooses nothing, with a warning", () => {
    const { problems } = read('template: frr, binds: ["conf/daemons:/etc/frr/daemons"]');
    expect(problems).toEqual([
      "warning ignored_key: the file /etc/frr/daemons chooses no daemons: a node starts those that its configuration uses",
    ]);
  });
});
