import { Failure } from "../../../contract/errors.ts";
import type { Quality } from "../../../intent/lab/lab.ts";
import type { LinkQualityState, LinkSides } from "../../host.ts";
import type { DefinedLink, LabDefinition } from "../definitions/definition.ts";
import type { Definitions } from "../definitions/definitions.ts";
import type { LocalLab } from "../lab/local-lab.ts";
import { completeLinkQuality, storedQuality } from "../quality/quality.ts";
import type { Catalogue } from "../templates/catalogue.ts";

/** The lab and the parts of the host that a change of one link needs. */
export interface LinkContext {
  readonly definition: LabDefinition;
  readonly definitions: Definitions;
  readonly catalogue: Catalogue;
  readonly live: LocalLab;
}

/** Sets the link's quality. Clears an omitted side. Throws link_not_found. */
export async function setLinkQuality(
  context: LinkContext,
  linkId: string,
  quality: LinkSides<Quality>,
  save: boolean,
): Promise<LinkQualityState> {
  const { definition, catalogue, live } = context;
  const link = linkOf(definition, linkId);
  const stored = storedQuality(quality);
  const after = save
    ? await changeLink(context, link.id, ({ quality: _before, ...rest }) => ({ ...rest, ...(stored && { quality: stored }) }))
    : definition;
  // Also with save: a live change may be in force although the declared quality stays the same.
  const now = linkOf(after, linkId);
  live.setLiveQuality(now, completeLinkQuality(quality));
  await live.reconcileFabric(after, catalogue, { of: "link", id: link.id });
  const effective = (await live.liveQualities()).get(link.id) ?? {};
  return { stored: now.quality ?? {}, effective };
}

/** Suspends or resumes the sides of the link. An omitted side stays as it is. Throws link_not_found. */
export async function setLinkSuspend(
  context: LinkContext,
  linkId: string,
  suspended: LinkSides<boolean>,
): Promise<Required<LinkSides<boolean>>> {
  const { definition, catalogue, live } = context;
  const link = linkOf(definition, linkId);
  const both = { a: suspended.a ?? link.suspended?.a ?? false, b: suspended.b ?? link.suspended?.b ?? false };
  const after = await changeLink(context, link.id, ({ suspended: _before, ...rest }) => ({
    ...rest,
    ...(both.a || both.b ? { suspended: both } : {}),
  }));
  await live.reconcileFabric(after, catalogue, { of: "link", id: link.id });
  return both;
}

function linkOf({ links, path }: LabDefinition, id: string): DefinedLink {
  const link = links.find((one) => String(one.id) === id);
  if (link === undefined) throw new Failure("link_not_found", `lab ${path} has no link with id ${id}`);
  return link;
}

/** Persists the change before it takes effect: after a crash, a repeated call or the next reconcile puts it in force. */
async function changeLink(
  { definition, definitions }: LinkContext,
  id: number,
  change: (link: DefinedLink) => DefinedLink,
): Promise<LabDefinition> {
  await definitions.change(definition.path, (now) => ({ ...now, links: now.links.map((one) => (one.id === id ? change(one) : one)) }));
  return (await definitions.get(definition.path)) ?? definition;
}
