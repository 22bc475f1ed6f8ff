import { Failure } from "../../contract/errors.ts";
import type {
  IconsData,
  NetworkTypesData,
  Template,
  TemplateAttributesData,
  TemplateDetail,
  TemplateImagesData,
  TemplatesData,
} from "../../contract/schemas/catalogue.ts";
import type { HostSession, HostTemplate } from "../../hosts/host.ts";

/** provisioned: only the text "true" filters. */
export async function listTemplates(host: HostSession, provisioned: string | undefined): Promise<TemplatesData> {
  const own = (await host.templates()).filter(({ sameAs }) => sameAs === undefined);
  const all = own.filter((template) => provisioned !== "true" || template.provisioned);
  return { templates: byKey(all.map(summary), ({ id }) => id) };
}

export async function templateDetail(host: HostSession, id: string): Promise<TemplateDetail> {
  const template = await find(host, id);
  const { imageSource, attributes } = template;
  return { ...summary(template), ...images(template), attributes, ...(imageSource !== undefined && { image_source: imageSource }) };
}

export async function templateImages(host: HostSession, id: string): Promise<TemplateImagesData> {
  const template = await find(host, id);
  return { template: id, type: template.type, provisioned: template.provisioned, ...images(template) };
}

export async function templateAttributes(host: HostSession, id: string): Promise<TemplateAttributesData> {
  const { type, attributes } = await find(host, id);
  return { template: id, type, attributes };
}

export async function networkTypes(host: HostSession): Promise<NetworkTypesData> {
  const types = byKey(await host.networkTypes(), ({ type }) => type);
  const out = types.filter(({ external, nat }) => external || nat);
  return { types, natOnly: out.length > 0 && out.every(({ nat }) => nat) };
}

export async function icons(host: HostSession): Promise<IconsData> {
  return { icons: byKey(await host.icons(), ({ name }) => name) };
}

async function find(host: HostSession, id: string): Promise<HostTemplate> {
  const template = (await host.templates()).find((one) => one.id === id);
  if (template === undefined) throw new Failure("template_not_found", `the host has no template ${id}`);
  return template;
}

function summary({ id, description, type, provisioned, icon, configSupported }: HostTemplate): Template {
  return { id, description, type, provisioned, ...(icon !== undefined && { icon }), configSupported };
}

function images({ images }: HostTemplate): Pick<TemplateImagesData, "default" | "images"> {
  const standard = images.find((image) => image.default)?.name;
  return { ...(standard !== undefined && { default: standard }), images: byKey(images, ({ name }) => name) };
}

function byKey<T>(list: readonly T[], key: (one: T) => string): readonly T[] {
  return [...list].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}
