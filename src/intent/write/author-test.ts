import { type LabTest, neighborStates, type TestCheck, testDefaults, testName } from "../lab/lab-test.ts";
import type { NodeBoot } from "../lab/node-boot.ts";
import type { Data } from "./write.ts";

/** Converts a test to the data of the YAML, in the shortest notation. */
export function authorTest(test: LabTest): Data {
  const { from, check, within, expect, given, name } = test;
  return {
    name: name === testName(from, check) ? undefined : name,
    from: one(from),
    [check.kind]: authorCheck(check),
    within: within === testDefaults.within ? undefined : within,
    expect: expect === "pass" ? undefined : expect,
    given: given && { suspend: some(given.suspend), stop: some(given.stop) },
  };
}

/** Converts `ready` and `depends-on` of a node. */
export function authorBoot({ ready, dependsOn }: NodeBoot): { readonly ready: Data | undefined; readonly "depends-on": Data | undefined } {
  const isPlain = dependsOn.every(({ state }) => state === "running");
  return {
    ready: ready.length === 0 ? undefined : ready.map((check) => ({ [check.kind]: authorCheck(check) })),
    "depends-on":
      dependsOn.length === 0
        ? undefined
        : isPlain
          ? dependsOn.map(({ node }) => node)
          : Object.fromEntries(dependsOn.map(({ node, state }) => [node, state])),
  };
}

function authorCheck(check: TestCheck): Data {
  const { kind, ...parts } = check;
  const [first, ...more] = Object.entries(parts).filter(([key, value]) => !isDefault(check, key, value));
  if (check.kind === "port") return `${check.to.includes(":") ? `[${check.to}]` : check.to}:${check.port}`;
  if (check.kind === "config") return { contains: some(check.contains), lacks: some(check.lacks) };
  const isShort = first !== undefined && more.length === 0 && ["ping", "http", "command", "route"].includes(kind);
  return isShort ? (first[1] as string) : Object.fromEntries([...(first === undefined ? [] : [first]), ...more]);
}

function isDefault(check: TestCheck, key: string, value: unknown): boolean {
  if (check.kind === "neighbor" && key === "state") return value === neighborStates[check.protocol];
  return value === undefined || (Object.hasOwn(testDefaults, key) && testDefaults[key as keyof typeof testDefaults] === value);
}

function one(list: readonly string[]): Data {
  return list.length === 1 ? (list[0] as string) : list;
}

function some(list: readonly string[]): readonly string[] | undefined {
  return list.length === 0 ? undefined : list;
}
