import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { qemuTemplates } from "./interface-name-table.ts";
import { ethFormatNames, plannedInterfaces } from "./interface-names.ts";

interface Recorded {
  readonly template: string;
  readonly type: string;
  readonly ethernet: number | null;
  readonly console: string | null;
  /** By id; an array where the ids are 0, 1, 2 … */
  readonly names: readonly string[] | Readonly<Record<string, string>>;
  readonly serial?: Readonly<Record<string, string>>;
}

/** Names that a real host reported for a node of each of its templates. */
const recorded = new Map(
  readFileSync(new URL("../../../../test/fakes/eve/recorded/interface-names.jsonl", import.meta.url), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Recorded)
    .map((each) => [each.template, each]),
);

const names = (count: number, format?: string, given?: readonly string[]) => ethFormatNames(count, format, given).join(" ");

describe("a real host's templates", () => {
  test("are as many as were seen", () => {
    expect(recorded.size).toBe(167);
  });

  test.each([...recorded].filter(([, { type }]) => type === "qemu"))("%s", (template, { names: seen, ethernet, console }) => {
    const planned = plannedInterfaces({ template, ethernet: 10 });
    expect(planned?.map(({ name }) => name)).toEqual(seen);
    expect(planned?.map(({ id }) => id)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(plannedInterfaces({ template })).toHaveLength(ethernet ?? -1);
    expect(qemuTemplates[template]?.[1]).toBe(console);
  });

  test.each([...recorded].filter(([, { type }]) => type === "dynamips" || type === "vpcs"))("%s", (template, { names: seen }) => {
    expect(plannedInterfaces({ template })?.map(({ name }) => name)).toEqual(seen);
  });

  test("iol", () => {
    const { names: seen, serial = {} } = recorded.get("iol") as Recorded;
    const planned = plannedInterfaces({ template: "iol", ethernet: 2, serial: 1 }) ?? [];
    const byId = (type: string) => Object.fromEntries(planned.filter((each) => each.type === type).map(({ id, name }) => [id, name]));
    expect(byId("ethernet")).toEqual(seen);
    expect(byId("serial")).toEqual(serial);
  });
});

describe("other nodes", () => {
  test("docker counts eth, dynamips has what its modules bring", () => {
    expect(plannedInterfaces({ template: "any", type: "docker", ethernet: 2 })?.map(({ name }) => name)).toEqual(["eth0", "eth1"]);
    const slots = [
      { id: 1, module: "NM-1FE-TX" },
      { id: 2, module: "NM-16ESW" },
    ];
    const planned = plannedInterfaces({ template: "c3725", slots });
    expect(planned).toHaveLength(2 + 1 + 16);
    expect(planned?.[2]).toEqual({ id: 16, name: "fa1/0", type: "ethernet" });
    expect(planned?.at(-1)).toEqual({ id: 47, name: "fa2/15", type: "ethernet" });
  });

  test("a template that is not known has no names, unless its file is", () => {
    expect(plannedInterfaces({ template: "tomorrow" })).toBeUndefined();
    expect(plannedInterfaces({ template: "tomorrow", type: "qemu" })).toBeUndefined();
    expect(plannedInterfaces({ template: "constructor" })).toBeUndefined();
    const planned = plannedInterfaces({ template: "tomorrow", type: "qemu", ethernet: 2, ethFormat: "ens{3}" });
    expect(planned?.map(({ name }) => name)).toEqual(["ens3", "ens4"]);
  });
});

describe("eth_format", () => {
  test.each([
    ["Gi{1}", "Gi1 Gi2 Gi3 Gi4 Gi5"],
    ["Ge0/0/{0-5}", "Ge0/0/0 Ge0/0/1 Ge0/0/2 Ge0/0/3 Ge0/0/4"],
    ["Gi{0}/{0-4}", "Gi0/0 Gi0/1 Gi0/2 Gi0/3 Gi1/0"],
    ["e{1}-{1-2}", "e1-1 e1-2 e2-1 e2-2 e3-1"],
    ["port", "e0 e1 e2 e3 e4"],
    ["Gi{1}/0", "Gi1 Gi2 Gi3 Gi4 Gi5"],
    ["Gi{0}/{0}", "Gi099990 Gi099991 Gi099992 Gi099993 Gi099994"],
    [undefined, "e0 e1 e2 e3 e4"],
  ])("%s", (format, expected) => {
    expect(names(5, format)).toBe(expected);
  });

  test("starts after the names of eth_name", () => {
    expect(names(4, "Gi{0}/{0-2}", ["Mgmt0"])).toBe("Mgmt0 Gi0/0 Gi0/1 Gi1/0");
    expect(names(4, "e{0}", ["", "mgmt"])).toBe("e0 mgmt e1 e2");
  });
});
