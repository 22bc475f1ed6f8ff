import type { Static } from "typebox";
import type { ImageFetchData } from "../../contract/schemas/machines.ts";
import type { ObservedLab } from "../../engine/model/observed.ts";
import type { Operation } from "../../engine/model/plan.ts";
import type { HostSession, NativeIds, WantedImage } from "../../hosts/host.ts";
import type { Lab, LabNode } from "../../intent/lab/lab.ts";
import type { Job } from "../jobs/jobs.ts";

type ImageFetch = Static<typeof ImageFetchData>;

/** The labs that know the images of the nodes of a change. */
export interface ImageSources {
  readonly intent: Pick<Lab, "nodes"> | undefined;
  readonly observed: ObservedLab | null;
  readonly ids: NativeIds;
}

/**
 * Fetches the images of the nodes that these steps create, change or start, before the first of them runs. A failure leaves the lab as it is. Does nothing
 * on hosts that fetch no images.
 */
export async function fetchImages(
  host: HostSession,
  job: Pick<Job, "signal" | "progresses" | "waits">,
  operations: readonly Operation[],
  sources: ImageSources,
): Promise<void> {
  if (host.fetchImages === undefined) return;
  const wanted = wantedImages(operations, sources);
  if (wanted.length === 0) return;
  try {
    await host.fetchImages(wanted, { signal: job.signal, say: (text) => job.progresses(text) });
  } finally {
    job.waits(undefined);
  }
}

/** Returns the images that these steps fetch from other machines of the fleet, as a field of an answer; none if there are none. */
export async function imageFetches(
  host: HostSession,
  operations: readonly Operation[],
  sources: ImageSources,
): Promise<{ readonly image_fetches?: ImageFetch[] }> {
  const found = (await host.imagesOfPeers?.(wantedImages(operations, sources))) ?? [];
  return found.length === 0 ? {} : { image_fetches: found.map(({ bytes, ...image }) => ({ ...image, size_bytes: bytes })) };
}

/** The same as lines of a plan. */
export function imageFetchText({ image_fetches: found = [] }: { readonly image_fetches?: readonly ImageFetch[] }): string {
  return found
    .map(({ image, machine, size_bytes }) => `\nImage: ${image} is fetched from machine ${machine} (${(size_bytes / 1e6).toFixed(1)} MB)\n`)
    .join("");
}

/** Returns each image once. A node that is only created gets its image as well, so that its next start needs no registry. */
export function wantedImages(operations: readonly Operation[], { intent, observed, ids }: ImageSources): readonly WantedImage[] {
  const declared = new Map(intent?.nodes.map((node) => [node.key, node]));
  const there = new Map(observed?.nodes.map((node) => [node.id, node]));
  const wanted = new Map<string, WantedImage>();
  // A node that names no image has the one of its template: in the step that makes it, and on the host.
  const add = (key: string, isStart: boolean, made?: LabNode): void => {
    const node = [declared.get(key), made, there.get(ids.nodes[key] ?? "")].find((one) => one?.image !== undefined);
    if (node?.image === undefined) return;
    const declaredPull = declared.get(key)?.pull ?? "missing";
    // A changed node that keeps running keeps its image as well.
    const pull = declaredPull === "always" && !isStart ? "missing" : declaredPull;
    const name = `${node.template} ${node.image}`;
    if (wanted.get(name)?.pull !== "always") wanted.set(name, { template: node.template, image: node.image, pull });
  };
  const starts = new Set(operations.flatMap(({ step }) => (step.do === "start" ? [step.node] : [])));
  for (const { step } of operations) {
    if (step.do === "start") add(step.node, true);
    else if (step.do === "create-node" || step.do === "update-node") add(step.node.key, starts.has(step.node.key), step.node);
  }
  return [...wanted.values()];
}
