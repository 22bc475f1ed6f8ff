import { interfaceNaming } from "../../base/names/interface-names.ts";
import type { ObservedEndpoint, ObservedLab } from "../../engine/model/observed.ts";
import type { HostRules, Operation, Step, TemplateRules } from "../../engine/model/plan.ts";
import { type Endpoint, endpointText, type Lab, type LabLink, type LabNode, linkKey, type Scalar } from "../../intent/lab/lab.ts";
import type { Host, HostSession, HostTemplate, NativeIds } from "../host.ts";

/** Translates the suite's lab to a host's own words: its template for each of ours, and the values that its nodes need in addition. */
export type ConformanceDialect = Readonly<
  Record<"linux" | "pc" | "frr" | "switch", { readonly template: string; readonly attributes?: Readonly<Record<string, Scalar>> }>
>;

/**
 * Returns the host as the suite sees it: templates have our names, interfaces are called eth0, eth1 … Nothing else is changed, so that the result of
 * the suite holds for the host itself.
 */
export function speaking(host: Host, dialect: ConformanceDialect): Host {
  const { resume } = host;
  return {
    kind: host.kind,
    url: host.url,
    login: async (...given) => session(await host.login(...given), dialect),
    ...(resume !== undefined && {
      resume: async (user: string) => {
        const resumed = await resume(user);
        return resumed === null ? null : session(resumed, dialect);
      },
    }),
    close: () => host.close(),
  };
}

const ours = "eth{0}";

function session(inner: HostSession, dialect: ConformanceDialect): HostSession {
  const theirs = new Map(Object.entries(dialect).map(([name, { template }]) => [name, template]));
  const names = new Map(Object.entries(dialect).map(([name, { template }]) => [template, name]));

  /** Returns the templates of the dialect under our names; the others stay. */
  function renamed<T extends { readonly id: string }>(
    templates: readonly T[],
    change: (template: T, name: keyof ConformanceDialect) => T,
  ): T[] {
    const all = templates.flatMap((template) => {
      const name = names.get(template.id) as keyof ConformanceDialect | undefined;
      if (name !== undefined) return change(template, name);
      return theirs.has(template.id) ? [] : template;
    });
    return all.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  async function wordsFor(lab: string, operations: readonly Operation[], ids: NativeIds): Promise<Words> {
    const { templates } = await inner.rules();
    const formats = new Map(templates.map(({ id, ethFormat }) => [id, ethFormat]));
    const observed = await inner.observe(lab).catch(() => null);
    const templateOf = new Map<string, string>();
    const native = new Map(observed?.nodes.map((node) => [node.id, node.template]));
    for (const { name, template } of observed?.nodes ?? []) templateOf.set(name, template);
    for (const [key, id] of Object.entries(ids.nodes)) if (native.has(id)) templateOf.set(key, native.get(id) ?? "");
    const own = new Map(templateOf);
    for (const { step } of operations) {
      const nodes = step.do === "create-lab" ? step.lab.nodes : step.do === "create-node" ? [step.node] : [];
      for (const { key, template } of nodes) templateOf.set(key, theirs.get(template) ?? template);
    }
    const format = (key: string, before: boolean) => formats.get((before ? own.get(key) : undefined) ?? templateOf.get(key) ?? "");
    return {
      node: (node) => ({ ...node, template: theirs.get(node.template) ?? node.template }),
      end: (end, way, before = false) => {
        if (!("node" in end)) return end;
        const host = format(end.node, before);
        if (host === undefined) return end;
        const [from, to] = way === "out" ? [ours, host] : [host, ours];
        const index = interfaceNaming(from).index(end.interface);
        return index === undefined ? end : { ...end, interface: interfaceNaming(to).name(index) };
      },
    };
  }

  return {
    ...inner,
    user: inner.user,
    role: inner.role,
    templates: async () =>
      renamed(await inner.templates(), (template, id): HostTemplate => {
        const set = dialect[id].attributes ?? {};
        const attributes = template.attributes.map((one) => (one.name in set ? { ...one, default: set[one.name] as Scalar } : one));
        return { ...template, id, ethFormat: ours, attributes };
      }),
    rules: async (): Promise<HostRules> => {
      const rules = await inner.rules();
      const templates = renamed(rules.templates, (template, id): TemplateRules => {
        return { ...template, id, ethFormat: ours, attributes: { ...template.attributes, ...dialect[id].attributes } };
      });
      return { ...rules, templates };
    },
    observe: async (path) => {
      const observed = await inner.observe(path);
      return observed === null ? null : inOurWords(observed, names);
    },
    apply: async (path, operations, progress) => {
      const words = await wordsFor(path, operations, progress.ids);
      const links = (record: Readonly<Record<string, string>>, way: "out" | "back", before: boolean) =>
        Object.fromEntries(Object.entries(record).map(([key, id]) => [wordsOfKey(key, words, way, before), id]));
      const translated = operations.map((operation) => ({ ...operation, step: wordsOfStep(operation.step, words) }));
      const ids = { ...progress.ids, links: links(progress.ids.links, "out", true) };
      const applied = await inner.apply(path, translated, { ...progress, ids });
      return { ...applied, ids: { ...applied.ids, links: links(applied.ids.links, "back", false) } };
    },
  };
}

interface Words {
  readonly node: (node: LabNode) => LabNode;
  /** @param before by the template that the node had before the change */
  readonly end: (end: Endpoint, way: "out" | "back", before?: boolean) => Endpoint;
}

function inOurWords(observed: ObservedLab, names: ReadonlyMap<string, string>): ObservedLab {
  const nodes = new Map(observed.nodes.map((node) => [node.id, node]));
  const end = (one: ObservedEndpoint): ObservedEndpoint => {
    const found = "nodeId" in one ? nodes.get(one.nodeId)?.interfaces.find(({ name }) => name === one.interface) : undefined;
    return found?.type === "ethernet" ? { ...one, interface: `eth${found.index}` } : one;
  };
  return {
    ...observed,
    nodes: observed.nodes.map((node) => ({
      ...node,
      template: names.get(node.template) ?? node.template,
      interfaces: node.interfaces.map((one) => (one.type === "ethernet" ? { ...one, name: `eth${one.index}` } : one)),
    })),
    links: observed.links.map((link) => ({ ...link, endpoints: [end(link.endpoints[0]), end(link.endpoints[1])] as const })),
  };
}

function wordsOfStep(step: Step, words: Words): Step {
  switch (step.do) {
    case "create-lab":
      return { ...step, lab: wordsOfLab(step.lab, words) };
    case "create-node":
    case "update-node":
      return { ...step, node: words.node(step.node) };
    case "create-link":
    case "update-link":
      return { ...step, link: wordsOfLink(step.link, words) };
    case "delete-link":
      return { ...step, link: wordsOfKey(step.link, words, "out", true) };
    default:
      return step;
  }
}

function wordsOfLab(lab: Lab, words: Words): Lab {
  return { ...lab, nodes: lab.nodes.map(words.node), links: lab.links.map((link) => wordsOfLink(link, words)) };
}

function wordsOfLink(link: LabLink, words: Words): LabLink {
  const endpoints = [words.end(link.endpoints[0], "out"), words.end(link.endpoints[1], "out")] as const;
  return { ...link, endpoints, key: linkKey(endpoints[0], endpoints[1]) };
}

function wordsOfKey(key: string, words: Words, way: "out" | "back", before: boolean): string {
  const ends = key.split(" -- ").map((text): Endpoint => {
    const [, node = "", port = ""] = /^([^:]*):(.*)$/s.exec(text) ?? [];
    return node === "" ? { network: text } : words.end({ node, interface: port }, way, before);
  });
  const [a, b] = ends;
  return a === undefined || b === undefined ? ends.map(endpointText).join("") : linkKey(a, b);
}
