import { expect, it } from "vitest";
import { editIntent } from "../../edit/edit.ts";
import { printLab } from "../../write/print.ts";
import { readIntent } from "../read.ts";

const leaseOf = (text: string) => {
  const { lab, diagnostics } = readIntent(`name: x\nlease: ${text}\n`, {});
  return lab === undefined ? diagnostics.map(({ message }) => message).join("; ") : lab.lease;
};

it("a lease is a time, an idle time, or both, and what happens then", () => {
  expect(leaseOf("8h")).toEqual({ for: 28_800, atEnd: "stop" });
  expect(leaseOf("{idle: 90m, then: destroy}")).toEqual({ idle: 5_400, atEnd: "destroy" });
  expect(leaseOf("{for: 1d, idle: 2h}")).toEqual({ for: 86_400, idle: 7_200, atEnd: "stop" });
  expect(leaseOf("")).toBeUndefined();
});

it("a lease that cannot be read has a problem with a hint", () => {
  expect(leaseOf("8")).toContain("must be a text");
  expect(leaseOf("8 hours")).toContain('"8 hours" is not a duration');
  expect(leaseOf("0m")).toContain("not between 1m and 366d");
  expect(leaseOf("99999d")).toContain("not between 1m and 366d");
  expect(leaseOf("[8h]")).toContain("a duration or a map");
  expect(leaseOf("{then: stop}")).toContain("needs a time, an idle time, or both");
  expect(leaseOf("{for: 8h, then: reboot}")).toContain('"reboot" is none of stop, destroy');
  expect(leaseOf("{for: 8h, after: 2h}")).toContain('unknown key "after"');
});

it("a lease is printed as it is read, and an edit of the text keeps it", () => {
  for (const text of ["8h", "{ for: 1d, idle: 2h, then: destroy }", "{ idle: 30m }"]) {
    const { lab } = readIntent(`name: x\nlease: ${text} # as agreed\n`, {});
    expect(readIntent(printLab(lab!).yaml, {}).lab).toEqual(lab);
    const { lease: _lease, ...without } = lab!;
    expect(editIntent(`name: x\nlease: ${text} # as agreed\n`, {}, { ...without, description: "new" }).yaml).toContain(
      `lease: ${text} # as agreed\n`,
    );
  }
});
