import { templateTexts } from "../../files/template-texts.ts";
import { type KnownTemplates, knownTemplates } from "../../intent/places/known-templates.ts";

/** Returns the properties of Labwright's own templates. Needs no service. */
export async function builtinTemplates(): Promise<KnownTemplates> {
  return knownTemplates(await templateTexts());
}
