import { expect, test } from "vitest";
import type { TemplateNeed } from "../templates/container-template.ts";
import { templateLacks } from "./template-lacks.ts";

test("nodes lack what the machine does not have, and what nodes never get", () => {
  const texts = { for: "", without: "" };
  const needs: readonly TemplateNeed[] = [
    { what: { means: "mounts" }, ...texts },
    { what: { setting: "fs.inotify.max_user_instances", min: 4000 }, ...texts },
    { what: { kvm: true }, ...texts },
    { what: { kernel: "mpls" }, ...texts },
    { what: { cpu: ["sse4_2", "avx"] }, ...texts },
  ];
  const poor = { kvm: false, kernelLacks: ["mpls"], cpuFlags: new Set(["sse4_2"]), setting: () => 128 } as const;
  expect(templateLacks(needs, poor).map(({ what }) => what)).toEqual([
    "the right to mount file systems",
    "fs.inotify.max_user_instances of the machine of at least 4000; it is 128",
    "hardware virtualisation (/dev/kvm)",
    "MPLS in the machine's kernel",
    "a processor with avx",
  ]);
  const rich = { kvm: true, kernelLacks: [], cpuFlags: undefined, setting: () => undefined };
  expect(templateLacks(needs, rich).map(({ what }) => what)).toEqual(["the right to mount file systems"]);
});
