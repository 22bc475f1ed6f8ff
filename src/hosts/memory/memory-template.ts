import type { FieldRule } from "../../engine/model/plan.ts";
import type { HostTemplate } from "../host.ts";

/** A template of the memory host: the catalogue entry and how its nodes take changes. */
export interface MemoryTemplate extends HostTemplate {
  readonly fields: Readonly<Record<string, FieldRule>>;
  readonly links: "live" | "restart" | "recreate";
  readonly maxInterfaces: number;
  /** Defaults, where its nodes have CPUs and memory (MiB) of their own. */
  readonly cpu?: number;
  readonly ram?: number;
}

const hostFields = {
  image: "recreate",
  kernel: "recreate",
  startupConfig: "restart",
  exec: "restart",
  env: "restart",
  attributes: "restart",
  cpu: "unsupported",
  ram: "unsupported",
} as const satisfies Record<string, FieldRule>;

/** The templates that the embedded host has too, with the same shape and rules. */
export const memoryTemplates: readonly MemoryTemplate[] = [
  {
    id: "frr",
    description: "Router without routing: a line shell that echoes",
    type: "router",
    provisioned: true,
    icon: "Router.png",
    configSupported: true,
    images: [{ name: "frr", default: true }],
    attributes: [{ name: "daemons", label: "Routing daemons", type: "string", default: "auto", required: false }],
    ethFormat: "eth{0}",
    consoleType: "telnet",
    prompt: "^[\\w.-]+# $",
    fields: hostFields,
    links: "live",
    maxInterfaces: 64,
  },
  {
    id: "linux",
    description: "Host without an operating system: a line shell that echoes",
    type: "linux",
    provisioned: true,
    icon: "Server.png",
    configSupported: true,
    images: [{ name: "base", default: true }],
    attributes: [{ name: "forwarding", label: "IP forwarding", type: "boolean", default: false, required: false }],
    ethFormat: "eth{0}",
    consoleType: "telnet",
    prompt: "^[\\w.-]+# $",
    fields: hostFields,
    links: "live",
    maxInterfaces: 64,
  },
  {
    id: "pc",
    description: "Small host: a line shell that echoes",
    type: "pc",
    provisioned: true,
    icon: "Desktop.png",
    configSupported: true,
    images: [{ name: "base", default: true }],
    attributes: [],
    ethFormat: "eth{0}",
    consoleType: "telnet",
    prompt: "^[\\w.-]+# $",
    fields: { ...hostFields, attributes: "unsupported" },
    links: "live",
    maxInterfaces: 8,
  },
  {
    id: "switch",
    description: "Switch that switches nothing",
    type: "switch",
    provisioned: true,
    icon: "Switch.png",
    configSupported: false,
    images: [],
    attributes: [],
    ethFormat: "eth{0}",
    consoleType: "none",
    fields: {
      image: "unsupported",
      startupConfig: "unsupported",
      exec: "unsupported",
      env: "unsupported",
      attributes: "unsupported",
      cpu: "unsupported",
      ram: "unsupported",
    },
    links: "live",
    maxInterfaces: 64,
  },
];
