import { parallel } from "../../../base/parallel.ts";
import type { HostRules } from "../../../engine/model/plan.ts";
import type { HostIcon, HostNetworkType, HostTemplate } from "../../host.ts";
import type { EveAccount } from "../account/account.ts";
import { type EveEdition, editionCapabilities } from "../account/edition.ts";
import { entriesOf, listOf, recordOf } from "../api/answer.ts";
import { networkNamePattern, networkNameReason } from "../lab-file/host-names.ts";
import { type EveTemplate, hostTemplate, readTemplate, templateRules } from "./template.ts";

/** The current templates, images and networks of the host. */
export interface EveCatalogue {
  readonly template: (id: string) => EveTemplate | undefined;
  readonly templates: readonly HostTemplate[];
  readonly networkTypes: readonly HostNetworkType[];
  readonly icons: readonly HostIcon[];
  readonly rules: HostRules;
  /** Maximum number of nodes of a lab. Their ids are from 1 to this. */
  readonly maxNodes: number;
}

/** Fields that EVE-NG cannot store, in any known edition. */
const noPlace = [
  "lab.name",
  "trafficFilters",
  "exec",
  "files",
  "binds",
  "switching",
  "ports",
  "kernel",
  "sshKeys",
  "lab.management",
  "mgmtIpv4",
  "mgmtIpv6",
  "env",
  "labels",
  "start",
  "mtu",
  "network.icon",
];

/** How long a catalogue is cached, ms: images are installed rarely and by hand. */
const freshMs = 60_000;

/** Reads the catalogue if the cached one is too old. Concurrent callers share one read. */
export class CatalogueReader {
  readonly #edition: EveEdition;
  #current: { readonly until: number; readonly catalogue: Promise<EveCatalogue> } | undefined;
  /** Forms of templates without an image. They change only when an image is installed. */
  readonly #forms = new Map<string, EveTemplate>();

  constructor(edition: EveEdition) {
    this.#edition = edition;
  }

  read(account: EveAccount): Promise<EveCatalogue> {
    const now = performance.now();
    if (this.#current === undefined || this.#current.until < now) {
      const catalogue = this.#load(account);
      const entry = { until: now + freshMs, catalogue };
      this.#current = entry;
      catalogue.catch(() => {
        if (this.#current === entry) this.#current = undefined;
      });
    }
    return this.#current.catalogue;
  }

  async #load(account: EveAccount): Promise<EveCatalogue> {
    const [list, networks, icons] = await Promise.all([
      account.get("/api/list/templates/", "list the templates"),
      account.get("/api/list/networks", "list the network types"),
      account.get("/api/icons", "list the icons"),
    ]);
    const listed = listOf(list, "list the templates").flatMap(([id, text]) => (typeof text === "string" ? [[id, text] as const] : []));
    const templates = await parallel(listed, 6, ([id, text]) => this.#form(account, id, text));
    const sorted = [...templates].sort((a, b) => (a.id < b.id ? -1 : 1));
    const byId = new Map(sorted.map((template) => [template.id, template]));
    const networkTypes = listOf(networks, "list the network types")
      .flatMap(([type, text]) => (typeof text === "string" ? [networkType(type)] : []))
      .sort((a, b) => (a.type < b.type ? -1 : 1));
    const iconNames = new Set(entriesOf(recordOf(icons)).map(([name]) => name));
    for (const { icon } of sorted) if (icon !== undefined) iconNames.add(icon);
    return {
      template: (id) => byId.get(id),
      templates: sorted.map(hostTemplate),
      networkTypes,
      icons: [...iconNames].sort().map((name) => ({ name })),
      maxNodes: this.#edition.maxNodes,
      rules: {
        templates: sorted.map((template) => templateRules(template, this.#edition.hotPlug)),
        networkTypes: networkTypes.map(({ type }) => type),
        otherNetworkTypes: inPlaceOfNat(networkTypes),
        features: editionCapabilities(this.#edition).features,
        unsupportedFields: noPlace,
        wholePositions: true,
        plainQuality: true,
        nodeName: "^[A-Za-z0-9_-]+$",
        networkName: { pattern: networkNamePattern, why: networkNameReason },
        maxNodes: this.#edition.maxNodes,
      },
    };
  }

  async #form(account: EveAccount, id: string, text: string): Promise<EveTemplate> {
    const key = `${id} ${text}`;
    const known = this.#forms.get(key);
    if (known !== undefined) return known;
    const suffix = this.#edition.missing.find((ending) => text.endsWith(ending));
    const description = suffix === undefined ? text : text.slice(0, -suffix.length);
    const data = await account.get(`/api/list/templates/${encodeURIComponent(id)}`, `read template ${id}`);
    const template = readTemplate(id, { description, provisioned: suffix === undefined }, data);
    if (suffix !== undefined) this.#forms.set(key, template);
    return template;
  }
}

function networkType(type: string): HostNetworkType {
  const cloud = /^pnet(\d+)$/.exec(type)?.[1];
  if (cloud !== undefined) {
    const description =
      cloud === "0" ? "Cloud 0, the network that the host is managed over" : `Cloud ${cloud}, what the host's interface pnet${cloud} is on`;
    return { type, description, external: true, nat: false };
  }
  // guess pro-networks: nat0 is the way out; internal and private are networks like bridge.
  if (/^nat\d*$/.test(type)) return { type, description: "The way out through the host's address", external: true, nat: true };
  const known: Readonly<Record<string, string>> = {
    bridge: "A learning bridge inside the lab",
    ovs: "An Open vSwitch bridge inside the lab",
  };
  return { type, description: known[type] ?? type, external: false, nat: false };
}

/** Returns the network type for a lab that asks for `nat`, which is not a type of EVE-NG. */
function inPlaceOfNat(types: readonly HostNetworkType[]): Readonly<Record<string, string>> {
  const own = types.find(({ nat }) => nat)?.type;
  if (own === "nat") return {};
  if (own !== undefined) return { nat: `its network with address translation has the type ${own}` };
  if (!types.some(({ type }) => type === "pnet0")) return {};
  return {
    nat:
      "EVE-NG has no network with address translation. Its way out is the type pnet0 (Cloud 0): the network that the host is managed over, " +
      "where nodes need addresses of that network, by DHCP or by hand",
  };
}
