import { Failure } from "../../../contract/errors.ts";
import type { Quality } from "../../../intent/lab/lab.ts";
import type { LinkQualityState, LinkSides } from "../../host.ts";
import type { DefinedLink, LabDefinition } from "../definitions/definition.ts";
import type { Definitions } from "../definitions/definitions.ts";
import type { LocalLab } from "../lab/local-lab.ts";
import { sidesOf, storedQuality } from "../quality/quality.ts";
import type { Catalogue } from "../templates/catalogue.ts";

/** What a change of one link works on. */
export interface LinkContext {
  readonly definition: LabDefinition;
  readonly definitions: Definitions;
  readonly catalogue: Catalogue;
  readonly live: LocalLab;
}

/** A side absent is cleared. Throws link_not_found. */
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
  // Also with save: where the same was declared before, and something else is in force.
  const now = linkOf(after, linkId);
  live.changeQuality(now, sidesOf(quality));
  await live.syncLink(after, now, catalogue);
  const effective = (await live.linkLife()).get(link.id) ?? {};
  return { stored: now.quality ?? {}, effective };
}

/** A side absent stays as it is. Throws link_not_found. */
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
  await live.syncLink(after, linkOf(after, linkId), catalogue);
  return both;
}

function linkOf({ links, path }: LabDefinition, id: string): DefinedLink {
  const link = links.find((one) => String(one.id) === id);
  if (link === undefined) throw new Failure("link_not_found", `lab ${path} has no link with id ${id}`);
  return link;
}

/** Persisted before it takes effect, so that what is in force after a crash is what a repeated call or the next sync makes of it. */
async function changeLink(
  { definition, definitions }: LinkContext,
  id: number,
  change: (link: DefinedLink) => DefinedLink,
): Promise<LabDefinition> {
  await definitions.change(definition.path, (now) => ({ ...now, links: now.links.map((one) => (one.id === id ? change(one) : one)) }));
  return (await definitions.get(definition.path)) ?? definition;
}
