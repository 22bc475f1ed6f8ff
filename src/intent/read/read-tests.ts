import { didYouMean } from "../diagnostics/nearest.ts";
import { checkKeys, type Field, fieldOf, invalid, readLine, readList, readMap, readNumber, readText, spot } from "../fields/fields.ts";
import { isSelector, type SelectableNode, selects } from "../fields/node-selector.ts";
import {
  type LabTest,
  maxTestRuns,
  maxTests,
  type NeighborProtocol,
  neighborStates,
  type TestCheck,
  testDefaults,
  testName,
} from "../lab/lab-test.ts";
import { checkVocabularies, givenVocabulary, testChecks, testVocabulary } from "../lab/vocabulary.ts";
import type { ReadContext } from "./node-fields.ts";

/** The names that tests may use. */
export interface TestNames {
  readonly nodes: ReadonlySet<string>;
  /** The nodes that selectors choose from. */
  readonly selectable: readonly SelectableNode[];
  /** Ends of links, as `node:interface`. */
  readonly ends: ReadonlySet<string>;
}

export function readTests(context: ReadContext, at: Field, names: TestNames): readonly LabTest[] {
  const { problems } = context;
  const items = readList(problems, at) ?? [];
  if (items.length > maxTests) {
    problems.error("too_large", at.place, at.path, `a lab has at most ${maxTests} tests, not ${items.length}`);
    return [];
  }
  const tests: LabTest[] = [];
  const lines = new Map<string, number>();
  let runs = 0;
  for (const item of items) {
    const test = readTest(context, item, names);
    if (test === undefined) continue;
    runs += test.from.length;
    if (runs > maxTestRuns) {
      problems.error("too_large", item.place, item.path, `the tests of a lab run at most ${maxTestRuns} times in all, once in each node`);
      return [];
    }
    const first = lines.get(test.name);
    if (first !== undefined && test.isNamed) {
      problems.error(
        "duplicate_name",
        item.place,
        item.path,
        `the test ${JSON.stringify(test.name)} is already in line ${first}`,
        "give it a name: of its own",
      );
      continue;
    }
    const { isNamed: _, ...read } = { ...test, name: first === undefined ? test.name : numbered(test.name, lines) };
    lines.set(read.name, problems.line(item.place.start));
    tests.push(read);
  }
  return tests;
}

/** A name that was made from the check, with a number that makes it unique. */
function numbered(name: string, taken: ReadonlyMap<string, number>): string {
  let number = 2;
  while (taken.has(`${name} (${number})`)) number++;
  return `${name} (${number})`;
}

function readTest(context: ReadContext, item: Field, names: TestNames): (LabTest & { readonly isNamed: boolean }) | undefined {
  const { problems } = context;
  const map = readMap(problems, item);
  if (map === undefined) return undefined;
  checkKeys(problems, map, item.path, testVocabulary);
  const here = (key: string) => fieldOf(map, key, item.path);
  const [nameField, fromField, withinField, expectField, givenField] = ["name", "from", "within", "expect", "given"].map(here);
  if (fromField === undefined) problems.error("missing_key", item.place, item.path, "the test has no from: the node in which it runs");
  const words = fromField && readNames(context, fromField, names.nodes, "node", names.selectable);
  const from = words && selected(words, names);
  const present = testChecks.flatMap((kind) => {
    const found = here(kind);
    return found === undefined ? [] : [{ kind, field: found }];
  });
  const [one, ...more] = present;
  if (one === undefined && [...map.entries.keys()].every((key) => testVocabulary.known.includes(key))) {
    problems.error("missing_key", item.place, item.path, `the test has no check: one of ${testChecks.join(", ")}`);
  }
  for (const { kind, field } of more) {
    problems.error("duplicate_key", field.place, field.path, `the test has the check ${one?.kind} already: ${kind} is another test`);
  }
  const check = one && checks[one.kind](context, one.field);
  const name = nameField && readLine(problems, nameField, { loose: true, max: 120 });
  const within = withinField && readNumber(problems, withinField, { min: 0, max: 3600, unit: "s" });
  const expect = expectField && readWord(context, expectField, ["pass", "fail"] as const);
  const given = givenField && readGiven(context, givenField, names);
  if (from === undefined || from.length === 0 || check === undefined) return undefined;
  return {
    isNamed: name !== undefined,
    name: name ?? testName(words ?? from, check),
    from,
    check,
    within: within ?? testDefaults.within,
    expect: expect ?? "pass",
    ...(given === undefined ? {} : { given }),
  };
}

type CheckReader = (context: ReadContext, at: Field) => TestCheck | undefined;

/** A check that is written as one text, or as a map. */
export const checks: Readonly<Record<(typeof testChecks)[number], CheckReader>> = {
  ping: (context, at) => {
    const { problems } = context;
    const part = parts(context, at, "ping", "to");
    const to = part("to", readAddress);
    const count = part("count", (_, field) => readNumber(problems, field, { min: 1, max: 100, integer: true })) ?? testDefaults.count;
    const loss = part("loss", (_, field) => readNumber(problems, field, { min: 0, max: 100, unit: "%" })) ?? testDefaults.loss;
    const rtt = part("rtt", (_, field) => readNumber(problems, field, { min: 0, max: 60_000, unit: "ms" }));
    return to === undefined ? undefined : { kind: "ping", to, count, loss, ...(rtt === undefined ? {} : { rtt }) };
  },
  http: (context, at) => {
    const part = parts(context, at, "http", "url");
    const url = part("url", readUrl);
    const status =
      part("status", (_, field) => readNumber(context.problems, field, { min: 100, max: 599, integer: true })) ?? testDefaults.status;
    const contains = part("contains", readOutput);
    return url === undefined ? undefined : { kind: "http", url, status, ...(contains === undefined ? {} : { contains }) };
  },
  port: (context, at) => {
    if (at.value.kind === "scalar") return readSocket(context, at);
    const part = parts(context, at, "port");
    const to = part("to", readAddress);
    const port = part("port", readPort);
    return to === undefined || port === undefined ? undefined : { kind: "port", to, port };
  },
  command: (context, at) => {
    const part = parts(context, at, "command", "run");
    const run = part("run", readOutput);
    const exit = part("exit", (_, field) => readNumber(context.problems, field, { min: 0, max: 255, integer: true })) ?? testDefaults.exit;
    const contains = part("contains", readOutput);
    const lacks = part("lacks", readOutput);
    const texts = { ...(contains === undefined ? {} : { contains }), ...(lacks === undefined ? {} : { lacks }) };
    return run === undefined ? undefined : { kind: "command", run, exit, ...texts };
  },
  route: (context, at) => {
    const part = parts(context, at, "route", "to");
    const to = part("to", readAddress);
    const via = part("via", readAddress);
    const dev = part("interface", readAddress);
    const protocol = part("protocol", readAddress);
    const more = {
      ...(via === undefined ? {} : { via }),
      ...(dev === undefined ? {} : { interface: dev }),
      ...(protocol === undefined ? {} : { protocol }),
    };
    return to === undefined ? undefined : { kind: "route", to, ...more };
  },
  neighbor: (context, at) => {
    const part = parts(context, at, "neighbor");
    const protocol = part("protocol", (_, field) => readWord(context, field, Object.keys(neighborStates) as NeighborProtocol[]));
    const peer = part("peer", readAddress);
    const state = part("state", (_, field) => readLine(context.problems, field, { max: 32 }));
    if (protocol === undefined || peer === undefined) return undefined;
    return { kind: "neighbor", protocol, peer, state: state ?? neighborStates[protocol] };
  },
  path: (context, at) => {
    const part = parts(context, at, "path");
    const to = part("to", readAddress);
    const hops = part("hops", (_, field) => readHops(context, field));
    return to === undefined || hops === undefined ? undefined : { kind: "path", to, hops };
  },
  config: (context, at) => {
    const part = parts(context, at, "config", "contains");
    const contains = part("contains", readLines) ?? [];
    const lacks = part("lacks", readLines) ?? [];
    if (contains.length + lacks.length > 0) return { kind: "config", contains, lacks };
    return invalid(context.problems, at, "it needs lines in contains or lacks");
  },
};

/** Required keys by check. */
const required: Readonly<Record<(typeof testChecks)[number], readonly string[]>> = {
  ping: ["to"],
  http: ["url"],
  port: ["to", "port"],
  command: ["run"],
  route: ["to"],
  neighbor: ["protocol", "peer"],
  path: ["to", "hops"],
  config: [],
};

type PartReader = <Value>(key: string, read: (context: ReadContext, at: Field) => Value | undefined) => Value | undefined;

/** Returns a reader of the parts of a check. If `short` is given, a check that is not a map has only this part. */
function parts(context: ReadContext, at: Field, kind: (typeof testChecks)[number], short?: string): PartReader {
  const { problems } = context;
  if (short !== undefined && at.value.kind !== "map") return (key, read) => (key === short ? read(context, at) : undefined);
  const map = readMap(problems, at);
  if (map === undefined) return () => undefined;
  checkKeys(problems, map, at.path, checkVocabularies[kind]);
  for (const key of required[kind]) {
    if (fieldOf(map, key, at.path) === undefined) problems.error("missing_key", at.place, at.path, `${kind} has no ${key}`);
  }
  return (key, read) => {
    const found = fieldOf(map, key, at.path);
    return found && read(context, found);
  };
}

/** An address, a name, a prefix or a word: one argument of a program, which cannot be taken for one of its options. */
function readAddress({ problems }: ReadContext, at: Field): string | undefined {
  const text = readLine(problems, at, { loose: true, max: 255 });
  if (text === undefined || /^[A-Za-z0-9:][A-Za-z0-9_.:%/-]*$/.test(text)) return text;
  return invalid(problems, at, "an address, a prefix or a name has letters, digits and . : % / _ -");
}

function readUrl({ problems }: ReadContext, at: Field): string | undefined {
  const text = readLine(problems, at, { max: 2000 });
  if (text === undefined || /^https?:\/\/[^\s/]+\S*$/.test(text)) return text;
  return invalid(problems, at, "it must be an address such as http://10.0.0.1/");
}

function readSocket(context: ReadContext, at: Field): TestCheck | undefined {
  const text = readLine(context.problems, at, { loose: true });
  const [, to, port] = /^\[?([A-Za-z0-9:][A-Za-z0-9_.:%-]*?)\]?:(\d{1,5})$/.exec(text ?? "") ?? [];
  if (to !== undefined && Number(port) >= 1 && Number(port) <= 65_535) return { kind: "port", to, port: Number(port) };
  return text === undefined ? undefined : invalid(context.problems, at, "it must be an address and a port, such as 10.0.0.1:22");
}

function readPort({ problems }: ReadContext, at: Field): number | undefined {
  return readNumber(problems, at, { min: 1, max: 65_535, integer: true });
}

function readOutput({ problems }: ReadContext, at: Field): string | undefined {
  const text = readText(problems, at, { loose: true, max: 10_000 });
  return text === "" ? invalid(problems, at, "it must not be empty") : text;
}

function readLines({ problems }: ReadContext, at: Field): readonly string[] | undefined {
  const fields = at.value.kind === "list" ? readList(problems, at) : [at];
  return fields?.flatMap((field) => readLine(problems, field, { loose: true, max: 1000 })?.trim() ?? []);
}

function readHops(context: ReadContext, at: Field): readonly string[] | undefined {
  const fields = readList(context.problems, at);
  if (fields?.length === 0) return invalid(context.problems, at, "it needs at least one hop");
  return fields?.flatMap((field) =>
    field.value.kind === "scalar" && field.value.text === "*" ? "*" : (readAddress(context, field) ?? []),
  );
}

function readWord<Word extends string>({ problems }: ReadContext, at: Field, words: readonly Word[]): Word | undefined {
  const text = readLine(problems, at);
  const found = words.find((word) => word === text);
  if (text === undefined || found !== undefined) return found;
  return invalid(problems, at, `it must be ${words.join(" or ")}`, didYouMean(text, words, problems.effort));
}

function readGiven(context: ReadContext, at: Field, names: TestNames): LabTest["given"] {
  const map = readMap(context.problems, at);
  if (map === undefined) return undefined;
  checkKeys(context.problems, map, at.path, givenVocabulary);
  const [suspendField, stopField] = ["suspend", "stop"].map((key) => fieldOf(map, key, at.path));
  return {
    suspend: suspendField === undefined ? [] : (readNames(context, suspendField, names.ends, "end of a link") ?? []),
    stop: stopField === undefined ? [] : selected(readNames(context, stopField, names.nodes, "node", names.selectable) ?? [], names),
  };
}

/** Reads one name or a list of names. An unknown name is a warning and is kept: a pull that removes a node does not make its tests wrong. */
function readNames(
  { problems }: ReadContext,
  at: Field,
  known: ReadonlySet<string>,
  what: string,
  selectable: readonly SelectableNode[] = [],
): readonly string[] | undefined {
  const fields = at.value.kind === "list" ? readList(problems, at) : [at];
  const names = fields?.flatMap((field) => {
    const name = readLine(problems, field, { loose: true, max: 160 });
    if (name === undefined) return [];
    if (known.has(name) || selectable.some((node) => selects(name, node))) return [name];
    const isPattern = what === "node" && isSelector(name);
    const message = isPattern ? `${JSON.stringify(name)} selects no node` : `no ${what} ${JSON.stringify(name)}`;
    const hint = isPattern ? undefined : didYouMean(name, known, problems.effort);
    problems.warn(what === "node" ? "unknown_node" : "unknown_link", spot(field), field.path, `${message}: the test cannot run`, hint);
    return [name];
  });
  return names === undefined ? undefined : [...new Set(names)];
}

/** Returns the nodes that the words choose, each once. A word that chooses none stays. */
function selected(words: readonly string[], { nodes, selectable }: TestNames): readonly string[] {
  const all = words.flatMap((word) => {
    if (nodes.has(word)) return [word];
    const found = selectable.filter((node) => selects(word, node)).map(({ key }) => key);
    return found.length === 0 ? [word] : found;
  });
  return [...new Set(all)];
}
