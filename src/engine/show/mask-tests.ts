import { type LabTest, type TestCheck, testName } from "../../intent/lab/lab-test.ts";
import type { NodeBoot } from "../../intent/lab/node-boot.ts";
import { maskText } from "./secret-words.ts";

/** Returns tests without their secrets. Their names stay unique. */
export function maskTests(tests: readonly LabTest[]): readonly LabTest[] {
  const masked = tests.map((test) => {
    const check = mapTexts(test.check, maskText);
    return { ...test, check, name: hasDefaultName(test) ? testName(test.from, check) : maskText(test.name).slice(0, maxName) };
  });
  // A name that is not changed keeps its test.
  const taken = new Set(masked.flatMap(({ name }, index) => (name === tests[index]?.name ? [name] : [])));
  return masked.map((test, index) => {
    if (test.name === tests[index]?.name) return test;
    const name = freeName(test.name, taken);
    taken.add(name);
    return { ...test, name };
  });
}

/** Returns conditions without their secrets. */
export function maskBoots(boots: readonly NodeBoot[]): readonly NodeBoot[] {
  return boots.map((boot) => ({ ...boot, ready: boot.ready.map((check) => mapTexts(check, maskText)) }));
}

/** Whether the name was made from the check. Such a name may end with a number. */
export function hasDefaultName({ name, from, check }: LabTest): boolean {
  return name.replace(/ \(\d+\)$/, "") === testName(from, check);
}

/**
 * Applies a function to the texts of a check that its author words freely. Addresses, interfaces, ports and numbers of a check have a form without a place
 * for secrets.
 */
export function mapTexts<Check extends TestCheck>(check: Check, change: (text: string) => string): Check;
export function mapTexts(check: TestCheck, change: (text: string) => string): TestCheck {
  switch (check.kind) {
    case "http": {
      const { contains } = check;
      return { ...check, url: change(check.url), ...(contains !== undefined && { contains: change(contains) }) };
    }
    case "command": {
      const { run, contains, lacks } = check;
      const output = {
        ...(contains !== undefined && { contains: change(contains) }),
        ...(lacks !== undefined && { lacks: change(lacks) }),
      };
      return { ...check, run: change(run), ...output };
    }
    case "config":
      return { ...check, contains: check.contains.map(change), lacks: check.lacks.map(change) };
    case "neighbor":
      return { ...check, state: change(check.state) };
    case "ping":
    case "port":
    case "route":
    case "path":
      return check;
  }
}

/** Returns the texts of checks in the order in which mapTexts changes them. */
export function textsOf(checks: readonly TestCheck[]): readonly string[] {
  const texts: string[] = [];
  for (const check of checks) {
    mapTexts(check, (text) => {
      texts.push(text);
      return text;
    });
  }
  return texts;
}

/** Longest name of a test. */
const maxName = 120;

function freeName(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name;
  for (let number = 2; ; number++) {
    const ending = ` (${number})`;
    const numbered = `${name.slice(0, maxName - ending.length)}${ending}`;
    if (!taken.has(numbered)) return numbered;
  }
}
