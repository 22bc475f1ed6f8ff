import type { LocalTemplate } from "../../templates/template.ts";
import type { LabDefinition } from "../definition.ts";

export const id = "1b4e28ba-2fa1-41d2-883f-0016d3cca427";
export const empty: LabDefinition = {
  version: 1,
  id,
  path: "/courses/one",
  name: "one",
  owner: "admin",
  locked: false,
  next: { node: 1, network: 1, link: 1 },
  nodes: [],
  networks: [],
  links: [],
  texts: [],
  trafficFilters: [],
};
export const noIds = { nodes: {}, networks: {}, links: {} };
export const linux = { id: "linux", type: "linux", ethFormat: "eth{0}", maxInterfaces: 4, backend: "namespace" } as LocalTemplate;
export const template = (name: string) => (name === "linux" ? linux : undefined);
export const node = (key: string, more: object = {}) => ({
  key,
  name: key,
  template: "linux",
  exec: [],
  env: {},
  attributes: {},
  labels: {},
  ...more,
});
export const link = (a: string, b: string, more: object = {}) => {
  const end = (text: string) => {
    const [of = "", port] = text.split(":");
    return port === undefined ? { network: of } : { node: of, interface: port };
  };
  return { key: [a, b].sort().join(" -- "), endpoints: [end(a), end(b)] as const, ...more };
};
