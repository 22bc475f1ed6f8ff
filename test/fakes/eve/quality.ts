import { type Envelope, fail, success } from "./answer.ts";
import type { Host } from "./host.ts";
import type { Extra, NodeInterface } from "./interface.ts";
import type { Lab } from "./lab.ts";
import { type Body, phpInt, phpString } from "./php.ts";

/** Milliseconds, milliseconds, percent, kbit/s: so people take it. */
export type Quality = Readonly<Record<(typeof qualities)[number], number>>;

export const qualities = ["delay", "jitter", "loss", "bandwidth"] as const;

export function qualityKey(lab: Lab, node: number, index: number): string {
  return `${lab.id}/${node}/${index}`;
}

/**
 * PUT …/quality of Professional. Both sides are always set; save 1 also writes the file. How the file has it is a guess: as attributes of
 * the interface, its own side as source, the other as destination.
 */
export async function editQuality(host: Host, lab: Lab, p: Body): Promise<Envelope> {
  const source = endOf(lab, p.source, p.source_interfaceId);
  const destination = endOf(lab, p.destination, p.destination_interfaceId);
  if (source === undefined) return fail(400, 20024);
  const [here, there] = [sideOf(p, "source"), sideOf(p, "destination")];
  host.quality.set(qualityKey(lab, source.node, source.index), here);
  if (destination !== undefined) host.quality.set(qualityKey(lab, destination.node, destination.index), there);
  if (phpInt(p.save) === 1) {
    keep(source.joined, here, destination === undefined ? undefined : there);
    if (destination !== undefined) keep(destination.joined, there, here);
    await lab.save();
  }
  return success(201, 60023);
}

interface End {
  readonly node: number;
  readonly index: number;
  readonly joined: NodeInterface;
}

/** "network10" has no side of its own. */
function endOf(lab: Lab, node: unknown, index: unknown): End | undefined {
  const id = phpInt(node);
  const joined = /^network/.test(phpString(node)) ? undefined : lab.nodes.get(id)?.ethernets.get(phpInt(index));
  return joined === undefined ? undefined : { node: id, index: phpInt(index), joined };
}

function sideOf(p: Body, side: "source" | "destination"): Quality {
  return Object.fromEntries(qualities.map((each) => [each, phpInt(p[`${side}_${each}`])])) as Quality;
}

function keep(joined: NodeInterface, own: Quality, other: Quality | undefined): void {
  const named = (side: string, quality: Quality): Extra => qualities.map((each) => [`${side}_${each}`, String(quality[each])] as const);
  const rest = joined.extra.filter(([name]) => !qualities.some((each) => name === `source_${each}` || name === `destination_${each}`));
  joined.extra = [...rest, ...named("source", own), ...(other === undefined ? [] : named("destination", other))];
}

/** The sides of a link in Professional's topology, all values as strings. */
export function qualityFields(host: Host, lab: Lab, source: readonly [number, number], destination?: readonly [number, number]): object {
  const side = (name: "source" | "destination", end: readonly [number, number] | undefined) => {
    const joined = end === undefined ? undefined : lab.nodes.get(end[0])?.ethernets.get(end[1]);
    const saved = (each: string) => joined?.extra.find(([key]) => key === `source_${each}`)?.[1];
    const running = end === undefined ? undefined : host.qualityOf(lab, end[0], end[1]);
    const fields = qualities.map((each) => [`${name}_${each}`, String(running?.[each] ?? saved(each) ?? 0)]);
    return [...fields, [`${name}_suspend`, String(saved("suspend") ?? 0)]];
  };
  return Object.fromEntries([...side("source", source), ...side("destination", destination)]);
}
