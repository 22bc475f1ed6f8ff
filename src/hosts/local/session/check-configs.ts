import type { ConfigProblem, ConfigToCheck } from "../../host-configs.ts";
import { checkConfigs as checkFrr } from "../frr/check-configs.ts";
import { missingDaemons } from "../frr/missing-daemons.ts";
import type { LocalImage } from "../images/images.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import { nodeImage } from "../templates/template.ts";

/** Checks startup configurations in the languages of their templates, those of an image together. An image that is missing checks nothing. */
export async function checkConfigs(
  catalogue: Catalogue,
  configs: readonly ConfigToCheck[],
  user: string,
): Promise<readonly (readonly ConfigProblem[])[]> {
  const byImage = new Map<LocalImage, number[]>();
  for (const [index, { template: id, image: wanted }] of configs.entries()) {
    const template = catalogue.template(id);
    const image = template?.configLanguage === "frr" ? nodeImage(template, catalogue.images, wanted) : undefined;
    if (image !== undefined) byImage.set(image, [...(byImage.get(image) ?? []), index]);
  }
  const found = configs.map((): readonly ConfigProblem[] => []);
  for (const [image, indexes] of byImage) {
    const problems = await checkFrr(
      image,
      indexes.map((index) => configs[index]!.text),
      user,
    );
    for (const [i, index] of indexes.entries()) {
      const { text, attributes = {} } = configs[index]!;
      const missing = missingDaemons(text, String(attributes["daemons"] ?? "auto"));
      found[index] = [...missing, ...(problems[i] ?? [])].sort((a, b) => a.line - b.line);
    }
  }
  return found;
}
