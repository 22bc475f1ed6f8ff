import { useState } from "preact/hooks";
import type { Lab } from "../../../intent/lab/lab.ts";
import { isOnHost } from "../../drawing/gestures.ts";
import type { KnownInterfaces } from "../../drawing/interface-names.ts";
import type { Graph, GraphLink } from "../../topology/graph/graph.ts";
import type { ChangedLink, DrawActions } from "./draw-actions.ts";
import { freeInterfaces } from "./free-interfaces.ts";
import type { LinkEnd } from "./link-end.ts";
import type { GraphEditor } from "./use-graph-edits.ts";

/** The question for other interfaces of a link. */
export function useInterfaces(
  graph: Graph,
  { draw, drawAfter }: GraphEditor,
): Pick<DrawActions, "changing" | "beginInterfaces" | "setInterfaces"> {
  const [changing, setChanging] = useState<ChangedLink>();
  return {
    changing,
    beginInterfaces: (id) => {
      const link = graph.links.find((one) => `link:${one.id}` === id);
      if (link === undefined) return setChanging(undefined);
      // No edit yet: the lab is read for the interfaces that the ends may have.
      return void drawAfter(freeInterfaces, (lab, free) => {
        setChanging({ key: link.key, isOnHost: isOnHost(link), ends: endsOf(lab, link, free) });
        return [];
      });
    },
    setInterfaces: ({ key, isOnHost: isThere }, interfaces) => {
      setChanging(undefined);
      draw(() => [{ kind: "set-interfaces", link: key, interfaces }], isThere);
    },
  };
}

function endsOf(lab: Lab, { key }: GraphLink, free: KnownInterfaces): readonly LinkEnd[] {
  const { endpoints = [] } = lab.links.find((one) => one.key === key) ?? {};
  return endpoints.flatMap((end) => {
    if (!("node" in end)) return [];
    const choices = [...new Set([end.interface, ...(free.get(end.node) ?? [])])];
    return [{ node: end.node, interface: end.interface, choices }];
  });
}
