/**
 * The attributes of a .unl file that Labwright uses, in EVE-NG's order and with its names. Others are kept unchanged.
 */
export const labAttributes = {
  name: "text",
  id: "text",
  version: "text",
  /** Seconds. */
  scripttimeout: "integer",
  /** 1: locked. */
  lock: "integer",
  author: "text",
} as const;

export const nodeAttributes = {
  /** 1 to 127. Free to choose; part of the console's port on Community Edition. */
  id: "integer",
  name: "text",
  /** qemu, iol, dynamips, vpcs or docker. */
  type: "text",
  template: "text",
  image: "text",
  console: "text",
  cpu: "integer",
  /** 1: limited. */
  cpulimit: "integer",
  idlepc: "text",
  nvram: "integer",
  /** MiB. */
  ram: "integer",
  /** Interfaces; of iol groups of four. */
  ethernet: "integer",
  /** Groups of four; iol only. */
  serial: "integer",
  uuid: "text",
  firstmac: "text",
  qemu_options: "text",
  qemu_version: "text",
  qemu_arch: "text",
  qemu_nic: "text",
  /** Seconds before the node starts. */
  delay: "integer",
  icon: "text",
  /** "0" none, "1" the startup config of this file; Professional has names of config sets. */
  config: "text",
  left: "integer",
  top: "integer",
} as const;

export const interfaceAttributes = {
  id: "integer",
  /** For readers: EVE-NG makes the name from the template. */
  name: "text",
  /** ethernet or serial. */
  type: "text",
  network_id: "integer",
  /** Serial: the other node and its interface. Both ends have it. */
  remote_id: "integer",
  remote_if: "integer",
  // guess pro-quality-units, pro-quality-names: the names are those of the topology answers of Professional and of a public redevelopment; no file of
  // Professional itself was seen. Milliseconds, milliseconds, percent, kbit/s; suspend 0 or 1.
  source_delay: "integer",
  source_jitter: "integer",
  source_loss: "integer",
  source_bandwidth: "integer",
  source_suspend: "integer",
  destination_delay: "integer",
  destination_jitter: "integer",
  destination_loss: "integer",
  destination_bandwidth: "integer",
  destination_suspend: "integer",
} as const;

/** The interfaceAttributes with guessed names. Write them only if the host is known to keep them. */
export const guessedInterfaceAttributes = Object.keys(interfaceAttributes).filter((name) => /^(source|destination)_/.test(name));

export const networkAttributes = {
  id: "integer",
  /** bridge, ovs, pnet0 … */
  type: "text",
  name: "text",
  left: "integer",
  top: "integer",
  /** 0: hidden. A hidden network with two interfaces is a link between nodes; EVE-NG deletes one without interfaces. */
  visibility: "integer",
  icon: "text",
} as const;

export const slotAttributes = { id: "integer", module: "text" } as const;

export const textObjectAttributes = { id: "integer", name: "text", type: "text" } as const;

export const pictureAttributes = { id: "integer", name: "text", type: "text", width: "integer", height: "integer" } as const;

export const configAttributes = { id: "integer" } as const;

export type AttributeTable = Readonly<Record<string, "integer" | "text">>;

/** An attribute is absent if the file does not have it, or if its value has another type: then it is kept in `others`. */
export type Attributes<Table extends AttributeTable> = {
  readonly [Name in keyof Table]?: Table[Name] extends "integer" ? number : string;
};
