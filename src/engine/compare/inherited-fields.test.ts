import { expect, test } from "vitest";
import { readIntent } from "../../intent/read/read.ts";
import type { HostRules, TemplateRules } from "../model/plan.ts";
import { unsupportedText } from "../model/support.ts";
import { compareLab } from "./compare-lab.ts";

const template = (id: string, more: Partial<TemplateRules> = {}): TemplateRules => ({
  id,
  type: id,
  attributes: {},
  startupConfig: false,
  fields: {},
  links: "live",
  ethFormat: "eth{0}",
  maxInterfaces: 8,
  ...more,
});
const rules: HostRules = {
  templates: [
    template("linux"),
    template("switch", { fields: { sshKeys: "unsupported", cpu: "unsupported" }, why: { sshKeys: "a switch has no SSH server" } }),
  ],
  networkTypes: [],
  features: {},
  unsupportedFields: ["node.icon"],
};
const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl";

function missing(yaml: string): readonly string[] {
  const { lab, diagnostics } = readIntent(yaml);
  if (lab === undefined) throw new Error(JSON.stringify(diagnostics));
  return compareLab({ desired: lab, observed: null, rules, prune: false }).unsupported.map(unsupportedText);
}

test.each([
  [
    "in defaults, where other nodes take it, is left out silently",
    `defaults: {ssh-keys: ["${key}"]}\nnodes: {h1: {template: linux}, sw: {template: switch}}`,
    [],
  ],
  [
    "of a group is left out silently",
    `groups: {g: {cpu: 1}}\nnodes: {h1: {template: linux, group: g}, sw: {template: switch, group: g}}`,
    [],
  ],
  [
    "at the node itself is reported",
    `defaults: {cpu: 1}\nnodes: {h1: {template: linux}, sw: {template: switch, cpu: 2, ssh-keys: ["${key}"]}}`,
    ["sw.cpu: template switch does not support it", "sw.ssh-keys: a switch has no SSH server"],
  ],
  [
    "that no node takes is reported",
    "defaults: {cpu: 1}\nnodes: {sw: {template: switch}}",
    ["sw.cpu: template switch does not support it"],
  ],
  [
    "that the whole host does not support is reported",
    "defaults: {icon: x.png}\nnodes: {h1: {template: linux}}",
    ["h1.icon: this host has no place for it"],
  ],
])("a value %s, for a node that cannot have it", (_, nodes, expected) => {
  expect(missing(`name: x\n${nodes}\n`)).toEqual(expected);
});
