/**
 * A test of the running lab, as its author wrote it: one check that runs in each of the nodes `from`. The service runs tests; they are not a part of
 * the lab's structure, and no host stores them.
 */
export interface LabTest {
  /** Unique among the tests of the lab; made from the check unless given. */
  readonly name: string;
  /** Node keys; the check runs in each of them. */
  readonly from: readonly string[];
  readonly check: TestCheck;
  /** Seconds in which the check must pass. It is repeated until then. */
  readonly within: number;
  /** fail: the check must fail, and not pass again until `within` is over. */
  readonly expect: "pass" | "fail";
  /** Changes of the running lab for the time of this test: pulled cables (`node:interface`) and stopped nodes. */
  readonly given?: { readonly suspend: readonly string[]; readonly stop: readonly string[] };
}

export type TestCheck =
  /** ICMP echo. Passes if at most `loss` percent of `count` requests get no answer, with an average round trip of at most `rtt` ms. */
  | { readonly kind: "ping"; readonly to: string; readonly count: number; readonly loss: number; readonly rtt?: number }
  /** Passes if the answer has this status and its body contains the text. */
  | { readonly kind: "http"; readonly url: string; readonly status: number; readonly contains?: string }
  /** Passes if a TCP connection can be opened. */
  | { readonly kind: "port"; readonly to: string; readonly port: number }
  /** A shell's command. Passes if it ends with this exit code, and its output contains and lacks these texts. */
  | { readonly kind: "command"; readonly run: string; readonly exit: number; readonly contains?: string; readonly lacks?: string }
  /** A route to exactly this prefix in the kernel's table, through this gateway, interface and routing protocol. */
  | { readonly kind: "route"; readonly to: string; readonly via?: string; readonly interface?: string; readonly protocol?: string }
  /** A neighbor of a routing protocol of FRR, by its address or router id, in this state. */
  | { readonly kind: "neighbor"; readonly protocol: NeighborProtocol; readonly peer: string; readonly state: string }
  /** Passes if a traceroute has exactly these hops; `*` is any. */
  | { readonly kind: "path"; readonly to: string; readonly hops: readonly string[] }
  /** Lines of the running configuration of FRR, without their indentation. */
  | { readonly kind: "config"; readonly contains: readonly string[]; readonly lacks: readonly string[] };

export const neighborStates = { ospf: "Full", bgp: "Established", isis: "Up", bfd: "up" } as const;

export type NeighborProtocol = keyof typeof neighborStates;

export const testDefaults = { within: 10, count: 3, loss: 0, status: 200, exit: 0 } as const;

/** Maximum number of tests of a lab. */
export const maxTests = 500;
/** Maximum number of runs of all tests, one for each test and node. Selectors can choose many nodes in few words. */
export const maxTestRuns = 100_000;

/** Returns a name for a test that has none. */
export function testName(from: readonly string[], check: TestCheck): string {
  return `${from.join(",")}: ${check.kind} ${target(check)}`.trimEnd().slice(0, 120);
}

function target(check: TestCheck): string {
  switch (check.kind) {
    case "http":
      return check.url;
    case "port":
      return `${check.to}:${check.port}`;
    case "command":
      return check.run.split("\n", 1)[0] ?? "";
    case "neighbor":
      return `${check.protocol} ${check.peer}`;
    case "config":
      return check.contains[0] ?? check.lacks[0] ?? "";
    default:
      return check.to;
  }
}
