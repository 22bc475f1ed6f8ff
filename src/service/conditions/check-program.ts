import { exitCodeText } from "../../base/names/exit-code.ts";
import type { NeighborProtocol, TestCheck } from "../../intent/lab/lab-test.ts";

/** The end of a program that ran in a node. */
export interface ProgramEnd {
  /** Exit code; null if a signal or the time limit ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
}

export interface Verdict {
  /** error: the check could not be made, for example because the node has no such program. */
  readonly outcome: "passed" | "failed" | "error";
  /** One line. */
  readonly message: string;
}

/** The program that makes a check in a node, and the meaning of its end. */
export interface CheckProgram {
  readonly argv: readonly string[];
  readonly judge: (end: ProgramEnd) => Verdict;
}

/** Exit codes of a shell for a program that is missing or cannot be run. */
const noProgram = [126, 127];

/** Returns the program of a check. Its arguments cannot be taken for options: see readTests. */
export function checkProgram(check: TestCheck): CheckProgram {
  const { argv, judge } = programs[check.kind](check as never);
  return {
    argv,
    judge: (end) => {
      if (end.timedOut) return { outcome: "failed", message: `${argv[0]} did not end in time` };
      const isMissing = check.kind !== "command" && end.code !== null && noProgram.includes(end.code);
      if (isMissing) return { outcome: "error", message: firstLine(end) || `the node has no ${argv[0]}` };
      return judge(end);
    },
  };
}

type Of<Kind extends TestCheck["kind"]> = Extract<TestCheck, { readonly kind: Kind }>;

const programs: { readonly [Kind in TestCheck["kind"]]: (check: Of<Kind>) => CheckProgram } = {
  ping: ({ to, count, loss, rtt }) => ({
    // Not `-w`: with it, ping sends until `count` answers have come.
    argv: ["ping", "-n", "-q", "-c", `${count}`, "-i", "0.2", "-W", "2", to],
    judge: (end) => {
      const lost = /([\d.]+)% packet loss/.exec(end.stdout)?.[1];
      const average = /= [\d.]+\/([\d.]+)\//.exec(end.stdout)?.[1];
      if (lost === undefined) return failed(firstLine(end) || "ping printed no result");
      if (Number(lost) > loss) return failed(`${lost} % of the requests to ${to} got no answer (limit ${loss} %)`);
      if (rtt !== undefined && average === undefined) return failed("no answer, so no round trip was measured");
      if (rtt !== undefined && Number(average) > rtt) return failed(`the average round trip is ${average} ms (limit ${rtt} ms)`);
      return passed(average === undefined ? `${lost} % loss` : `${lost} % loss, ${average} ms`);
    },
  }),
  http: ({ url, status, contains }) => ({
    argv: ["curl", "--silent", "--show-error", "--globoff", "--max-time", "5", "--write-out", "\n%{http_code}", url],
    judge: (end) => {
      const [, body = "", code = "000"] = /^([\s\S]*)\n(\d{3})$/.exec(end.stdout) ?? [];
      if (code === "000") return failed(firstLine(end) || "no answer");
      if (Number(code) !== status) return failed(`the status is ${code}, not ${status}`);
      if (contains !== undefined && !body.includes(contains)) return failed(`the body does not contain ${quoted(contains)}`);
      return passed(`status ${code}`);
    },
  }),
  port: ({ to, port }) => ({
    argv: ["sh", "-c", connect, "port", to, `${port}`],
    judge: (end) => (end.code === 0 ? passed(`port ${port} is open`) : failed(firstLine(end) || `no connection to port ${port}`)),
  }),
  command: ({ run, exit, contains, lacks }) => ({
    argv: ["sh", "-c", run],
    judge: (end) => {
      const output = `${end.stdout}${end.stderr}`;
      if (end.code !== exit)
        return failed(
          `${end.code === null ? "exit code none" : exitCodeText(end.code)}, not ${exit}${firstLine(end) === "" ? "" : `: ${firstLine(end)}`}`,
        );
      if (contains !== undefined && !output.includes(contains)) return failed(`the output does not contain ${quoted(contains)}`);
      if (lacks !== undefined && output.includes(lacks)) return failed(`the output contains ${quoted(lacks)}`);
      return passed(`exit code ${exit}`);
    },
  }),
  route: (check) => ({
    argv: ["ip", "-j", ...(`${check.to}${check.via ?? ""}`.includes(":") ? ["-6"] : []), "route", "show", "to", "exact", check.to],
    judge: (end) => judgeRoute(check, end),
  }),
  neighbor: ({ protocol, peer, state }) => ({
    argv: ["vtysh", "-c", neighborCommands[protocol]],
    judge: (end) => {
      const found = neighborStatesIn(parsed(end.stdout), peer);
      if (found.length === 0) return failed(`no ${protocol} neighbor ${peer}`);
      const isThere = found.some((one) => one.toLowerCase().startsWith(state.toLowerCase()));
      return isThere ? passed(found.join(", ")) : failed(`${protocol} neighbor ${peer} is ${found.join(", ")}, not ${state}`);
    },
  }),
  path: ({ to, hops }) => ({
    argv: ["traceroute", "-n", "-q", "1", "-w", "1", "-m", `${hops.length + 1}`, to],
    judge: (end) => {
      const seen = [...end.stdout.matchAll(/^\s*\d+\s+(\S+)/gm)].map(([, hop]) => hop as string);
      const same = seen.length === hops.length && hops.every((hop, index) => hop === "*" || hop === seen[index]);
      if (same) return passed(seen.join(" "));
      return failed(seen.length === 0 ? firstLine(end) || "no hops" : `the path is ${seen.join(" ")}, not ${hops.join(" ")}`);
    },
  }),
  config: ({ contains, lacks }) => ({
    argv: ["vtysh", "-c", "show running-config"],
    judge: (end) => {
      if (end.code !== 0) return failed(firstLine(end) || "vtysh showed no configuration");
      const lines = new Set(end.stdout.split(/\r?\n/).map((line) => line.trim()));
      const missing = contains.find((line) => !lines.has(line));
      if (missing !== undefined) return failed(`the running configuration has no line ${quoted(missing)}`);
      const surplus = lacks.find((line) => lines.has(line));
      return surplus === undefined ? passed("as expected") : failed(`the running configuration has the line ${quoted(surplus)}`);
    },
  }),
};

/** Opens a TCP connection with what the node has. $1 is the address, $2 the port. */
const connect = `if command -v ncat > /dev/null; then exec ncat -z -w 3 "$1" "$2"
elif command -v nc > /dev/null; then exec nc -z -w 3 "$1" "$2"
elif command -v bash > /dev/null; then exec timeout 3 bash -c 'exec 3<> "/dev/tcp/$0/$1"' "$1" "$2"
else echo "the node has no ncat, nc or bash" >&2; exit 127; fi`;

const neighborCommands: Readonly<Record<NeighborProtocol, string>> = {
  ospf: "show ip ospf neighbor json",
  bgp: "show bgp summary json",
  isis: "show isis neighbor json",
  bfd: "show bfd peers json",
};

interface Route {
  readonly dst?: string;
  readonly gateway?: string;
  readonly dev?: string;
  readonly protocol?: string;
  readonly nexthops?: readonly { readonly gateway?: string; readonly dev?: string }[];
}

function judgeRoute(check: Of<"route">, end: ProgramEnd): Verdict {
  const data = parsed(end.stdout);
  if (end.code !== 0 || !Array.isArray(data)) return failed(firstLine(end) || "ip printed no routes");
  const routes = data as readonly Route[];
  if (routes.length === 0) return failed(`no route to ${check.to}`);
  const fits = routes.some(({ nexthops = [], protocol, ...first }) =>
    [first, ...nexthops].some(
      ({ gateway, dev }) =>
        (check.via === undefined || check.via === gateway) &&
        (check.interface === undefined || check.interface === dev) &&
        (check.protocol === undefined || check.protocol === protocol),
    ),
  );
  const seen = routes.flatMap(({ nexthops = [], protocol, ...first }) =>
    (nexthops.length === 0 ? [first] : nexthops).map(({ gateway, dev }) =>
      [
        ...(gateway === undefined ? [] : [`via ${gateway}`]),
        ...(dev === undefined ? [] : [`on ${dev}`]),
        ...(protocol === undefined ? [] : [`by ${protocol}`]),
      ].join(" "),
    ),
  );
  return fits ? passed(seen.join("; ")) : failed(`the route to ${check.to} goes ${seen.join("; ")}`);
}

/** Names of FRR's fields with the state of a neighbor. */
const stateFields = ["nbrState", "state", "status", "peerState", "adjacencyState"];

/** Returns the states of objects that belong to this neighbor: under its name, or with its name as a value. */
function neighborStatesIn(data: unknown, peer: string, isUnderPeer = false): readonly string[] {
  if (typeof data !== "object" || data === null) return [];
  if (Array.isArray(data)) return data.flatMap((item) => neighborStatesIn(item, peer, isUnderPeer));
  const fields = Object.entries(data);
  const isPeer = isUnderPeer || fields.some(([, value]) => value === peer);
  const state = stateFields.map((name) => (data as Record<string, unknown>)[name]).find((value) => typeof value === "string");
  if (isPeer && typeof state === "string") return [state];
  return fields.flatMap(([key, value]) => neighborStatesIn(value, peer, isPeer || key === peer));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // Not JSON: judged as "nothing found".
  }
}

const passed = (message: string): Verdict => ({ outcome: "passed", message });
const failed = (message: string): Verdict => ({ outcome: "failed", message });

function quoted(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}

/** The first line of its errors or, without any, of its output. */
function firstLine({ stdout, stderr }: ProgramEnd): string {
  const lines = `${stderr}\n${stdout}`.split("\n").map((line) => line.trim());
  return (lines.find((line) => line !== "") ?? "").slice(0, 200);
}
