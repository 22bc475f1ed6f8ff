import type { UnlNode } from "../lab-file/unl.ts";
import type { EveCatalogue } from "./catalogue.ts";

/**
 * Returns whether a node names an image that the host does not have. At each save of its own, the host replaces such an image by the template's last one,
 * or by none: only the import of a file keeps it.
 */
export function hasMissingImage(catalogue: Pick<EveCatalogue, "template">, { template, image = "" }: UnlNode): boolean {
  const images = catalogue.template(template ?? "")?.images;
  return image !== "" && images !== undefined && !images.includes(image);
}
