import type { WantedImage } from "../../host.ts";
import { type ImagePeers, type ImageUser, mayFetch, type PeerImage } from "../../host-images.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import { nodeImage } from "../templates/template.ts";

/** An image that is fetched from another machine, and the machines that have it, the first of them first. */
export interface FromPeers {
  readonly wanted: WantedImage;
  readonly holders: readonly [PeerImage, ...PeerImage[]];
}

/** Returns the images that are missing here and that the user may fetch from other machines. */
export function imagesOfPeers(
  wanted: readonly WantedImage[],
  { images, template: templateOf }: Catalogue,
  peers: Pick<ImagePeers, "list"> | undefined,
  user: ImageUser,
): readonly FromPeers[] {
  if (peers === undefined) return [];
  const all = peers.list();
  return wanted.flatMap((one) => {
    const template = templateOf(one.template);
    if (template === undefined || one.pull === "always" || nodeImage(template, images, one.image) !== undefined) return [];
    const kind = template.backend === "container" ? "container" : template.backend === "vm" ? "machine" : undefined;
    const holders = all.filter(
      (image) => image.kind === kind && image.name === one.image && image.arch === process.arch && mayFetch(image, user),
    );
    const [first] = holders;
    // Machines may have other builds under the same name: the one of the first machine is fetched, from all that have it.
    return first === undefined
      ? []
      : [{ wanted: one, holders: [first, ...holders.slice(1).filter(({ digest }) => digest === first.digest)] }];
  });
}

/** Returns the images of other machines that the user may fetch, sorted by name, each once. */
export function fetchable(peers: Pick<ImagePeers, "list"> | undefined, user: ImageUser): readonly PeerImage[] {
  const found = new Map<string, PeerImage>();
  for (const image of peers?.list() ?? [])
    if (image.arch === process.arch && mayFetch(image, user)) found.set(`${image.kind} ${image.name}`, image);
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}
