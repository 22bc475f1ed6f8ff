import { templateTexts } from "../../files/template-texts.ts";
import { type KnownTemplate, readKnownTemplates } from "../../intent/places/known-templates.ts";

/** Returns the properties of Labwright's own templates. Needs no service. */
export async function builtinTemplates(): Promise<readonly KnownTemplate[]> {
  return readKnownTemplates(await templateTexts());
}
