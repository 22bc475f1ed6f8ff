import { type Endpoint, type Lab, type LabLink, type LabNode, linkKey } from "../../../intent/lab/lab.ts";
import type { ObservedLab, Power } from "../../model/observed.ts";
import type { HostRules, Plan, TemplateRules } from "../../model/plan.ts";
import { type PlanInput, planLab } from "../plan-lab.ts";

export const template = (id: string, more: Partial<TemplateRules> = {}): TemplateRules => ({
  id,
  type: id,
  image: "base",
  images: ["base", "big"],
  attributes: { forwarding: false },
  startupConfig: true,
  fields: { image: "recreate", env: "restart", startupConfig: "restart" },
  links: "live",
  ethFormat: "eth{0}",
  maxInterfaces: 8,
  ...more,
});

export const rules: HostRules = {
  templates: [
    template("linux"),
    template("vm", { links: "restart", ram: 512, fields: { ram: "restart", ethernet: "restart" } }),
    template("box", { links: "recreate" }),
    template("bare", { images: [] }),
    template("switch", { startupConfig: false, fields: { image: "unsupported" }, why: { image: "a switch has no image" } }),
  ],
  networkTypes: ["bridge", "nat"],
  features: { linkQuality: true, linkSuspend: true, wipe: true },
  unsupportedFields: [],
};

export const node = (key: string, more: Partial<LabNode> = {}): LabNode => ({
  key,
  name: key,
  template: "linux",
  exec: [],
  env: {},
  attributes: {},
  labels: {},
  ...more,
});

export const end = (text: string): Endpoint => {
  const [name = "", port] = text.split(":");
  return port === undefined ? { network: name } : { node: name, interface: port };
};

export const link = (a: string, b: string, more: Partial<LabLink> = {}): LabLink => ({
  key: linkKey(end(a), end(b)),
  endpoints: [end(a), end(b)],
  ...more,
});

export const lab = (nodes: readonly LabNode[], links: readonly LabLink[] = [], more: Partial<Lab> = {}): Lab => ({
  name: "campus",
  nodes,
  networks: [],
  links,
  texts: [],
  trafficFilters: [],
  ...more,
});

/** A host on which the lab was deployed; every node has the given power. */
export function host(deployed: Lab, power: Power = "running"): ObservedLab {
  const need = (key: string) => deployed.links.flatMap(({ endpoints }) => endpoints).filter((one) => "node" in one && one.node === key);
  return {
    path: "/campus",
    id: "lab-1",
    name: deployed.name,
    locked: false,
    lock: 0,
    texts: deployed.texts,
    trafficFilters: deployed.trafficFilters,
    nodes: deployed.nodes.map(({ key, ...rest }) => {
      const indexes = need(key).map((one) => ("node" in one ? Number(/\d+$/.exec(one.interface)?.[0]) + 1 : 0));
      return {
        ...rest,
        id: `n-${key}`,
        type: rest.template,
        ethernet: rest.ethernet ?? Math.max(0, ...indexes),
        power,
        consoleType: "telnet",
        interfaces: [],
      };
    }),
    networks: deployed.networks.map(({ key, ...rest }) => ({ ...rest, id: `w-${key}` })),
    links: deployed.links.map(({ key, endpoints, ...rest }) => ({
      ...rest,
      id: `l-${key}`,
      endpoints: [nativeEnd(endpoints[0]), nativeEnd(endpoints[1])],
    })),
  };
}

export const nativeEnd = (one: Endpoint) =>
  "node" in one ? { nodeId: `n-${one.node}`, interface: one.interface } : { networkId: `w-${one.network}` };

export const plan = (desired: Lab | null, observed: ObservedLab | null, more: Partial<PlanInput> = {}): Plan =>
  planLab({ desired, observed, rules, prune: false, replace: false, ...more });

export const steps = ({ operations }: Pick<Plan, "operations">) => operations.map(({ id }) => id);

export const triangle = lab(
  ["a", "b", "c"].map((key) => node(key)),
  [link("a:eth0", "b:eth0"), link("b:eth1", "c:eth0"), link("c:eth1", "a:eth1")],
);
