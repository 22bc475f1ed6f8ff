import { expect, test } from "vitest";
import { printLab } from "../../write/print.ts";
import { readIntent } from "../read.ts";

const nodes = "name: x\nnodes: {a: {template: frr}, b: {template: linux}}\nlinks: [['a:eth1', 'b:eth1']]\n";

function read(tests: string) {
  const { lab, diagnostics } = readIntent(`${nodes}tests:\n${tests.trimEnd()}\n`);
  return {
    tests: lab?.tests,
    problems: diagnostics.map(({ severity, code, line, message }) => `${severity} ${line} ${code}: ${message}`),
    lab,
  };
}

const all = `
  - {from: a, ping: 10.0.0.2}
  - {name: slow, from: [a, b], ping: {to: fd00::1, count: 5, loss: 20, rtt: 50}, within: 60}
  - {from: b, http: {url: "http://10.0.0.1/x", status: 404, contains: none}}
  - {from: b, port: "10.0.0.1:22"}
  - {from: b, port: {to: "fd00::1", port: 22}, expect: fail}
  - {from: a, command: "vtysh -c 'show version'"}
  - {from: a, command: {run: false, exit: 1, contains: x, lacks: y}}
  - {from: a, route: {to: 10.0.2.0/24, via: 10.0.0.2, interface: eth1, protocol: ospf}}
  - {from: a, neighbor: {protocol: bgp, peer: 10.0.0.2}}
  - {from: b, path: {to: 10.0.2.2, hops: [10.0.0.1, "*"]}, given: {suspend: ["a:eth1"], stop: [b]}}
  - {from: a, config: {contains: [router ospf], lacks: [router bgp]}}
`;

test("every check is read, with its defaults and a name", () => {
  const { tests, problems } = read(all);
  expect(problems).toEqual([]);
  expect(tests).toHaveLength(11);
  expect(tests?.[0]).toEqual({
    name: "a: ping 10.0.0.2",
    from: ["a"],
    check: { kind: "ping", to: "10.0.0.2", count: 3, loss: 0 },
    within: 10,
    expect: "pass",
  });
  expect(tests?.[3]?.check).toEqual({ kind: "port", to: "10.0.0.1", port: 22 });
  expect(tests?.[6]?.check).toEqual({ kind: "command", run: "false", exit: 1, contains: "x", lacks: "y" });
  expect(tests?.[8]?.check).toMatchObject({ state: "Established" });
  expect(tests?.[9]?.given).toEqual({ suspend: ["a:eth1"], stop: ["b"] });
});

test("a lab that is printed and read again has the same tests", () => {
  const { lab } = read(all);
  if (lab === undefined) throw new Error("the lab has errors");
  expect(readIntent(printLab(lab).yaml).lab?.tests).toEqual(lab.tests);
});

test.each([
  ["{ping: b}", "error 5 missing_key: the test has no from"],
  ["{from: a}", "error 5 missing_key: the test has no check"],
  ["{from: a, ping: b, port: 'b:1'}", "error 5 duplicate_key: the test has the check ping already"],
  ["{from: a, neighbour: {protocol: bgp, peer: b}}", 'error 5 unknown_key: unknown key "neighbour"'],
  ["{from: a, ping: -f}", 'error 5 invalid_value: "ping": an address'],
  ["{from: a, ping: {count: 3}}", "error 5 missing_key: ping has no to"],
  ["{from: a, port: '10.0.0.1:70000'}", 'error 5 invalid_value: "port": it must be an address and a port'],
  ["{from: a, http: 'file:///etc/passwd'}", 'error 5 invalid_value: "http"'],
  ["{from: a, ping: b, within: 1h}", 'error 5 wrong_type: "within": must be a number'],
  ["{from: a, ping: b, expect: broken}", 'error 5 invalid_value: "expect": it must be pass or fail'],
  ["{from: a, config: {}}", 'error 5 invalid_value: "config": it needs lines'],
])("%s is refused with its place", (text, expected) => {
  const { problems, lab } = read(`  - ${text}`);
  expect(lab).toBeUndefined();
  expect(problems[0]).toContain(expected);
});

test("a test with a node or link that the lab does not have is a warning, so that a pull that removes the node keeps the test", () => {
  const { problems, tests } = read("  - {from: c, ping: b, given: {suspend: 'a:eth9'}}");
  expect(problems.map((problem) => problem.split(":")[0])).toEqual(["warning 5 unknown_node", "warning 5 unknown_link"]);
  expect(tests).toMatchObject([{ from: ["c"] }]);
});

test("two tests of one name are refused; names that are made from the check get a number", () => {
  expect(read("  - {name: x, from: a, ping: b}\n  - {name: x, from: b, ping: b}").problems[0]).toContain("is already in line 5");
  expect(read("  - {from: a, ping: b}\n  - {from: a, ping: b}").tests?.map(({ name }) => name)).toEqual(["a: ping b", "a: ping b (2)"]);
});

test("selectors choose the nodes of a test, as those of commands do; one that chooses none is a warning", () => {
  const yaml = (from: string) => `name: x
groups: {edge: {labels: {role: edge}}}
nodes:
  r1: {template: frr}
  r2: {template: frr, group: edge}
  h1: {template: linux, labels: {role: "user"}}
tests:
  - {from: ${from}, command: "true"}
`;
  const chosen = (from: string) => readIntent(yaml(from)).lab?.tests?.[0]?.from;
  expect(chosen('"r*"')).toEqual(["r1", "r2"]);
  expect(chosen('["kind:linux", "r?", h1]')).toEqual(["h1", "r1", "r2"]);
  expect(chosen('"group:edge"')).toEqual(["r2"]);
  expect(chosen('"label:role=*"')).toEqual(["r2", "h1"]);
  expect(readIntent(yaml('"r*"')).lab?.tests?.[0]?.name).toBe("r*: command true");
  const { lab, diagnostics } = readIntent(yaml('"kind:srl"'));
  expect(lab?.tests?.[0]?.from).toEqual(["kind:srl"]);
  expect(diagnostics).toMatchObject([
    { severity: "warning", code: "unknown_node", line: 8, message: '"kind:srl" selects no node: the test cannot run' },
  ]);
});

test("given: stop takes selectors, too", () => {
  expect(read('  - {from: b, ping: 10.0.0.1, given: {stop: "kind:frr"}}').tests?.[0]?.given?.stop).toEqual(["a"]);
});

test("the tests of a lab run a limited number of times", () => {
  const many = Array.from({ length: 400 }, (_, i) => `  n${i}: {template: linux}`).join("\n");
  const tests = Array.from({ length: 251 }, (_, i) => `  - {name: t${i}, from: "*", command: "true"}`).join("\n");
  const { diagnostics } = readIntent(`name: x\nnodes:\n${many}\ntests:\n${tests}\n`);
  expect(diagnostics).toMatchObject([{ severity: "error", code: "too_large", line: 654 }]);
});
