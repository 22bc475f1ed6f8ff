import { expect, test } from "vitest";
import { Failure } from "../../contract/errors.ts";
import type { LabTest } from "../../intent/lab/lab-test.ts";
import { readIntent } from "../../intent/read/read.ts";
import { checkProgram, type ProgramEnd } from "../conditions/check-program.ts";
import { runTests, type TestBench } from "./run-tests.ts";

function labTests(text: string): readonly LabTest[] {
  const { lab, diagnostics } = readIntent(
    `name: x\nnodes: {a: {template: frr}, b: {template: linux}}\nlinks: [['a:eth1', 'b:eth1']]\ntests:\n${text}`,
  );
  if (lab?.tests === undefined) throw new Error(JSON.stringify(diagnostics));
  return lab.tests;
}

const one = (text: string) => labTests(`  - ${text}`)[0] as LabTest;
const end = (stdout: string, more: Partial<ProgramEnd> = {}): ProgramEnd => ({ code: 0, stdout, stderr: "", timedOut: false, ...more });

const route = '[{"dst":"10.2.0.0/16","gateway":"10.0.0.2","dev":"eth1","protocol":"ospf"}]';
const paths =
  '[{"dst":"10.2.0.0/16","protocol":"bgp","nexthops":[{"gateway":"10.0.0.2","dev":"eth1"},{"gateway":"10.0.1.2","dev":"eth2"}]}]';
const ospf =
  '{"neighbors":{"2.2.2.2":[{"priority":1,"state":"Full/DR","address":"10.0.12.2"}],"3.3.3.3":[{"state":"Init","address":"10.0.13.3"}]}}';
const bgp = '{"ipv4Unicast":{"peers":{"10.0.0.2":{"remoteAs":2,"state":"Idle"}}}}';
const ping = (loss: string, rest = "") => `3 packets transmitted, 3 received, ${loss}% packet loss, time 2ms\n${rest}`;

test.each([
  ["{from: a, ping: b}", end(ping("0", "rtt min/avg/max/mdev = 0.1/0.2/0.3/0.0 ms")), "passed: 0 % loss, 0.2 ms"],
  ["{from: a, ping: b}", end(ping("33.3333")), "failed: 33.3333 % of the requests to b got no answer (limit 0 %)"],
  ["{from: a, ping: {to: b, loss: 40}}", end(ping("33.3333")), "passed: 33.3333 % loss"],
  [
    "{from: a, ping: {to: b, rtt: 5}}",
    end(ping("0", "rtt min/avg/max/mdev = 4/7.5/9/1 ms")),
    "failed: the average round trip is 7.5 ms (limit 5 ms)",
  ],
  [
    "{from: a, ping: b}",
    end("", { code: 2, stderr: "ping: b: Name or service not known\n" }),
    "failed: ping: b: Name or service not known",
  ],
  ["{from: a, ping: b}", end("", { code: 127, stderr: "sh: ping: not found\n" }), "error: sh: ping: not found"],
  ["{from: a, http: 'http://b/'}", end("hello\n200"), "passed: status 200"],
  ["{from: a, http: {url: 'http://b/', status: 404, contains: none}}", end("there is none\n404"), "passed: status 404"],
  ["{from: a, http: {url: 'http://b/', contains: bye}}", end("hello\n200"), 'failed: the body does not contain "bye"'],
  ["{from: a, http: 'http://b/'}", end("\n000", { code: 7, stderr: "curl: (7) refused\n" }), "failed: curl: (7) refused"],
  ["{from: a, command: x}", end("", { code: 3, stderr: "no\n" }), "failed: exit code 3, not 0: no"],
  ["{from: a, command: x}", end("", { code: 127, stderr: "sh: x: not found" }), "failed: exit code 127, not 0: sh: x: not found"],
  ["{from: a, command: {run: x, lacks: bad}}", end("so bad"), 'failed: the output contains "bad"'],
  ["{from: a, route: 10.2.0.0/16}", end("[]"), "failed: no route to 10.2.0.0/16"],
  ["{from: a, route: {to: 10.2.0.0/16, via: 10.0.0.2, protocol: ospf}}", end(route), "passed: via 10.0.0.2 on eth1 by ospf"],
  ["{from: a, route: {to: 10.2.0.0/16, via: 10.0.0.9}}", end(route), "failed: the route to 10.2.0.0/16 goes via 10.0.0.2 on eth1 by ospf"],
  [
    "{from: a, route: {to: 10.2.0.0/16, via: 10.0.1.2, protocol: bgp}}",
    end(paths),
    "passed: via 10.0.0.2 on eth1 by bgp; via 10.0.1.2 on eth2 by bgp",
  ],
  ["{from: a, neighbor: {protocol: ospf, peer: 2.2.2.2}}", end(ospf), "passed: Full/DR"],
  ["{from: a, neighbor: {protocol: ospf, peer: 10.0.13.3}}", end(ospf), "failed: ospf neighbor 10.0.13.3 is Init, not Full"],
  ["{from: a, neighbor: {protocol: ospf, peer: 9.9.9.9}}", end(ospf), "failed: no ospf neighbor 9.9.9.9"],
  ["{from: a, neighbor: {protocol: bgp, peer: 10.0.0.2}}", end(bgp), "failed: bgp neighbor 10.0.0.2 is Idle, not Established"],
  ["{from: a, neighbor: {protocol: bgp, peer: 10.0.0.2}}", end("% BGP instance not found"), "failed: no bgp neighbor 10.0.0.2"],
  [
    "{from: a, path: {to: b, hops: ['*', 10.2.0.2]}}",
    end("traceroute to b\n 1  10.0.0.1  0.1 ms\n 2  10.2.0.2  0.2 ms\n"),
    "passed: 10.0.0.1 10.2.0.2",
  ],
  [
    "{from: a, path: {to: b, hops: [10.2.0.2]}}",
    end(" 1  10.0.0.1  0.1 ms\n 2  10.2.0.2  0.2 ms\n"),
    "failed: the path is 10.0.0.1 10.2.0.2, not 10.2.0.2",
  ],
  ["{from: a, config: [router ospf, network 10.0.0.0/8 area 0]}", end("router ospf\n network 10.0.0.0/8 area 0\n"), "passed: as expected"],
  ["{from: a, config: {lacks: router bgp 1}}", end("router bgp 1\n"), 'failed: the running configuration has the line "router bgp 1"'],
  ["{from: a, command: x}", end("", { code: null, timedOut: true }), "failed: sh did not end in time"],
])("%s is judged by the output of its program", (text, given, expected) => {
  const { outcome, message } = checkProgram(one(text).check).judge(given);
  expect(`${outcome}: ${message}`).toBe(expected);
});

/** A bench on which a command ends as `ends` returns. */
function bench(ends: (node: string, run: string) => ProgramEnd | Failure): TestBench & { readonly log: string[] } {
  const log: string[] = [];
  return {
    log,
    now: () => performance.now(),
    signal: new AbortController().signal,
    run: async (node, argv) => {
      log.push(`${node} ${argv[2]}`);
      const found = ends(node, argv[2] as string);
      if (found instanceof Failure) throw found;
      return found;
    },
    give: async ({ suspend, stop }) => {
      log.push(`given ${[...suspend, ...stop].join(" ")}`);
      return async () => {
        log.push("taken back");
      };
    },
  };
}

test("a check is repeated until it passes, also while its node cannot run it; the number of attempts is reported", async () => {
  let attempts = 0;
  const on = bench(() => (++attempts === 1 ? new Failure("node_not_running", "a is starting") : end("", { code: attempts < 3 ? 1 : 0 })));
  const [row] = await runTests(labTests("  - {from: a, command: x, within: 20}"), on);
  expect(row).toMatchObject({ outcome: "passed", attempts: 3 });
});

test("a check that fails to the end of its time is failed with its last reason; one that could not be made is an error", async () => {
  const on = bench((node) => (node === "a" ? end("", { code: 1 }) : new Failure("node_not_running", "b is stopped")));
  const rows = await runTests(labTests("  - {from: [a, b], command: x, within: 0}"), on);
  expect(rows.map(({ node, outcome, message }) => [node, outcome, message])).toEqual([
    ["a", "failed", "exit code 1, not 0"],
    ["b", "error", "b is stopped"],
  ]);
});

test("a test ends at its first attempt if its node cannot recover, with the reason, whatever it expects", async () => {
  const on = bench(() => new Failure("machine_unreachable", "the machine beta does not answer"));
  const asked: string[] = [];
  const rows = await runTests(labTests("  - {from: a, command: x, within: 60}\n  - {from: b, command: y, expect: fail, within: 60}"), {
    ...on,
    mayRecover: async (node, { code }) => {
      asked.push(`${node} ${code}`);
      return false;
    },
  });
  expect(rows).toMatchObject([
    { node: "a", outcome: "error", message: "the machine beta does not answer", attempts: 1 },
    { node: "b", outcome: "error", message: "the machine beta does not answer", attempts: 1 },
  ]);
  expect(rows[0]).not.toHaveProperty("isLast");
  expect(asked.toSorted()).toEqual(["a machine_unreachable", "b machine_unreachable"]);
});

test("a test that should fail passes when its check fails, but not when the check could not be made", async () => {
  const on = bench((_, run) =>
    run === "x" ? end("", { code: 1 }) : run === "y" ? end("") : new Failure("node_not_running", "a is stopped"),
  );
  const rows = await runTests(
    labTests(
      "  - {from: a, command: x, expect: fail, within: 0}\n  - {from: a, command: y, expect: fail, within: 0}\n  - {from: a, command: z, expect: fail, within: 0}",
    ),
    on,
  );
  expect(rows.map(({ outcome }) => outcome)).toEqual(["passed", "failed", "error"]);
});

test("a check that should fail must still fail at the end of its time: one that passes again fails the test, with the time", async () => {
  const attempts = new Map<string, number>();
  // `way` fails only until another way is found, `stale` passes until the failure is noticed.
  const codes: Readonly<Record<string, readonly number[]>> = { way: [1, 0], stale: [0, 1], never: [1], always: [0] };
  const on = bench((_, run) => {
    const count = attempts.get(run) ?? 0;
    attempts.set(run, count + 1);
    return end("", { code: codes[run]?.[Math.min(count, codes[run].length - 1)] ?? 0 });
  });
  const given = "given: {suspend: 'a:eth1'}";
  const rows = await runTests(
    labTests(
      ["way", "stale", "never", "always"]
        .map((run) => `  - {from: a, command: ${run}, expect: fail, within: 3, ${run === "way" ? given : ""}}`)
        .join("\n"),
    ),
    on,
  );
  expect(rows.map(({ outcome, message }) => `${outcome}: ${message}`)).toEqual([
    expect.stringMatching(/^failed: should fail, but passes again after \d\.\d s: exit code 0$/),
    "passed: fails as expected: exit code 1, not 0",
    "passed: fails as expected: exit code 1, not 0",
    "failed: should fail, but passes: exit code 0",
  ]);
  expect(rows.map((row) => row.attempts > 2)).toEqual([false, true, true, true]);
});

test("a ping sends exactly as many requests as `count`, so that its loss is a share of them", () => {
  const { argv } = checkProgram(one("{from: a, ping: {to: b, count: 3}}").check);
  expect(argv).toEqual(["ping", "-n", "-q", "-c", "3", "-i", "0.2", "-W", "2", "b"]);
});

test("tests that change the lab run alone, after the others, and what they change is taken back even if they fail", async () => {
  const on = bench(() => end("", { code: 1 }));
  const rows = await runTests(
    labTests(
      "  - {from: a, command: given1, within: 0, given: {suspend: 'a:eth1'}}\n  - {from: a, command: plain, within: 0}\n  - {from: a, command: given2, within: 0, given: {stop: b}}",
    ),
    on,
  );
  expect(on.log).toEqual(["a plain", "given a:eth1", "a given1", "taken back", "given b", "a given2", "taken back"]);
  expect(rows.map(({ name }) => name)).toEqual(["a: command given1", "a: command plain", "a: command given2"]);
});

test("a defect of the service ends the run and is no result; a change is taken back before", async () => {
  const on = bench(() => new Failure("internal", "a defect"));
  await expect(runTests(labTests("  - {from: a, command: x, given: {stop: b}}"), on)).rejects.toThrow("a defect");
  expect(on.log).toEqual(["given b", "a x", "taken back"]);
});
