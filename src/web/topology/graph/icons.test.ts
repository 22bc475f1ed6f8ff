import { expect, test } from "vitest";
import { iconOf } from "./icons.ts";

test("a node is drawn by its icon, else by its template, else by its type", () => {
  expect(iconOf({ icon: "Printer.png", template: "linux", type: "server" })).toBe("printer");
  expect(iconOf({ template: "frr", type: "router" })).toBe("router");
  expect(iconOf({ icon: "mine.svg", template: "vyos-1.4", type: "" })).toBe("router");
  expect(iconOf({ template: "unknown", type: "switch" })).toBe("switch");
  expect(iconOf({ template: "x", type: "y" })).toBe("server");
});

test("the templates of the embedded host have different drawings", () => {
  const of = (template: string) => iconOf({ template, type: template });
  expect(["frr", "switch", "linux", "pc", "vm", "qemu", "container"].map(of)).toEqual([
    "router",
    "switch",
    "server",
    "pc",
    "vm",
    "vm",
    "container",
  ]);
});
