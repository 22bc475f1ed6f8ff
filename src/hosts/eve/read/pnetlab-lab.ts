import { entriesOf, numberOf, recordOf, textOf } from "../api/answer.ts";
import { refuseLongConfigs, type UnlConfig, type UnlLab, type UnlNode } from "../lab-file/unl.ts";
import type { NodeStatus } from "./lab-read.ts";

/** PNETLab stores startup configs as attributes of nodes. Moves them beside the topology, where EVE-NG has them. */
export function withNodeConfigs(lab: UnlLab): UnlLab {
  const there = new Set(lab.configs.map(({ id }) => id));
  refuseLongConfigs(lab.nodes.map(configData).map(({ length }) => length));
  const found = lab.nodes.flatMap((node): readonly UnlConfig[] => {
    const data = configData(node);
    return data === "" || there.has(node.id) ? [] : [{ id: node.id, text: Buffer.from(data, "base64").toString("utf8") }];
  });
  return found.length === 0 ? lab : { ...lab, configs: [...lab.configs, ...found].sort((a, b) => a.id - b.id) };
}

function configData({ otherAttributes }: UnlNode): string {
  return otherAttributes?.find(([name]) => name === "config_data")?.[1] ?? "";
}

/** Returns the parts of a lab that links need, from PNETLab's topology. */
export function labOfTopology(nodes: readonly NodeStatus[], networks: unknown): UnlLab {
  return {
    nodes: nodes.map(({ id, data }) => ({
      id,
      interfaces: entriesOf(data.ethernets).flatMap(([key, one]) => {
        const network = numberOf(recordOf(one).network_id) ?? 0;
        return network > 0 ? [{ id: Number(key), network_id: network }] : [];
      }),
    })),
    networks: entriesOf(networks).map(([key, one]) => {
      const { type, visibility } = recordOf(one);
      return { id: Number(key), type: textOf(type) ?? "bridge", visibility: numberOf(visibility) ?? 0 };
    }),
    textObjects: [],
    pictures: [],
    configs: [],
  };
}

/** PNETLab stores the quality of a link in the session, and reports it with the interfaces of nodes. */
export function withNodeQuality(lab: UnlLab, nodes: readonly NodeStatus[]): UnlLab {
  const interfaces = new Map(nodes.map(({ id, data }) => [id, recordOf(data.ethernets)]));
  return {
    ...lab,
    nodes: lab.nodes.map((node) => ({
      ...node,
      interfaces: node.interfaces.map((one) => {
        const quality = recordOf(recordOf(interfaces.get(node.id)?.[String(one.id)]).quality);
        const words = entriesOf(quality).flatMap(([word, value]) => {
          const number = numberOf(value) ?? 0;
          return number === 0 || !["delay", "jitter", "loss", "bandwidth"].includes(word) ? [] : [[`source_${word}`, number] as const];
        });
        return words.length === 0 ? one : { ...one, ...Object.fromEntries(words) };
      }),
    })),
  };
}
