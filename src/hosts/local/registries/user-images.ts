import { Failure } from "../../../contract/errors.ts";
import { imageReference } from "../../../engine/model/image-reference.ts";
import type { HostRules, PullRules } from "../../../engine/model/plan.ts";
import type { FetchProgress, HostTemplate, WantedImage } from "../../host.ts";
import type { SharedImage } from "../../host-images.ts";
import type { LocalImage } from "../images/images.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import { mayUse, type PullUser, registriesOf } from "./permissions.ts";
import type { Pulls } from "./pulls.ts";
import { type RegistrySettings, readSettings, SettingsError, usualLimits } from "./settings.ts";

/** The parts of the host that pulls need. */
export interface ImageSources {
  readonly state: string;
  readonly pulls: Pulls;
  readonly catalogue: () => Promise<Catalogue>;
}

/**
 * Pulls the images of containers that are missing on this machine, or whose registry is to be asked each time. Throws operation_not_allowed for a registry
 * that is not open to the user, and image_pull_failed.
 */
export async function fetchImages(
  { state, pulls, catalogue }: ImageSources,
  user: PullUser,
  wanted: readonly WantedImage[],
  { signal, say }: FetchProgress,
): Promise<void> {
  const offered = await catalogue();
  const here = new Map(offered.images.flatMap((image) => (image.container === undefined ? [] : [[image.name, image] as const])));
  const needed = wanted.filter(
    ({ template, image, pull }) =>
      offered.template(template)?.backend === "container" && (pull === "always" || (pull === "missing" && !here.has(image))),
  );
  if (needed.length === 0) return;
  const settings = await settingsOf(state);
  for (const { image } of needed) refuseRegistry(settings, image, user);
  const stop = new AbortController();
  const all = AbortSignal.any([signal, stop.signal]);
  const texts = new Map<string, string>();
  const report = (image: string) => (text: string) => {
    texts.set(image, text);
    say(`pulling ${[...texts.values()].join("; ")}`);
  };
  const runs = needed.map(async ({ image, pull }) => {
    try {
      await pulls.pull({ reference: image, always: pull === "always", by: user.name }, { signal: all, say: report(image) });
      texts.delete(image);
    } catch (error) {
      // The first failure ends the other pulls of this change.
      stop.abort(error);
      throw error;
    }
  });
  const results = await Promise.allSettled(runs);
  signal.throwIfAborted();
  const failed = results.find((one) => one.status === "rejected");
  if (failed !== undefined) throw stop.signal.reason ?? failed.reason;
}

function refuseRegistry(settings: RegistrySettings, image: string, user: PullUser): void {
  const reference = imageReference(image, settings.defaultRegistry);
  if ("problem" in reference)
    throw new Failure("image_pull_failed", `image ${image} was not pulled: ${reference.problem}`, { data: { image, reason: "bad_name" } });
  if (mayUse(settings, reference.registry, user)) return;
  const known = registriesOf(settings, user);
  const text = known === "any" || known.length === 0 ? "none is" : known.join(", ");
  throw new Failure(
    "operation_not_allowed",
    `image ${image}: the registry ${reference.registry} is not open to ${user.name}; open: ${text}`,
  );
}

async function settingsOf(state: string): Promise<RegistrySettings> {
  try {
    return await readSettings(state);
  } catch (error) {
    if (error instanceof SettingsError)
      throw new Failure("host_error", `${error.message}: an administrator corrects the file`, { cause: error });
    throw error;
  }
}

/**
 * Returns the rules as they are for this user: the images of containers that the user may use, and the registries to pull others from.
 * @param others images of other machines of the fleet that the user may fetch
 */
export async function imageRules(
  state: string,
  { rules, images, template }: Catalogue,
  user: PullUser,
  others: readonly SharedImage[] = [],
): Promise<HostRules> {
  const settings = await settingsOrNone(state);
  const hidden = hiddenImages(settings, images, user);
  const pulls: PullRules = {
    registries: registriesOf(settings, user),
    ...(settings.defaultRegistry !== undefined && { defaultRegistry: settings.defaultRegistry }),
  };
  const known = ofUsers.get(rules) ?? new Map<string, HostRules>();
  ofUsers.set(rules, known);
  const key = JSON.stringify([pulls, [...hidden], others.map(({ kind, name }) => [kind, name])]);
  let own = known.get(key);
  if (own === undefined) {
    const templates = rules.templates.map((one) => {
      const backend = template(one.id)?.backend;
      const isContainer = backend === "container";
      if ((!isContainer && backend !== "vm") || (!isContainer && others.length === 0)) return one;
      const own = one.images?.filter((name) => !isContainer || !hidden.has(name)) ?? [];
      const more = others.filter(({ kind, name }) => kind === (isContainer ? "container" : "machine") && !own.includes(name));
      const usual = one.image ?? more.find((image) => image.template === one.id)?.name;
      return {
        ...one,
        ...(isContainer && { pulls }),
        ...(usual !== undefined && { image: usual }),
        ...(one.images !== undefined && { images: [...own, ...more.map(({ name }) => name)] }),
      };
    });
    own = { ...rules, templates };
    known.set(key, own);
  }
  return own;
}

/** The rules of users, so that unchanged rules stay the same objects. */
const ofUsers = new WeakMap<HostRules, Map<string, HostRules>>();

/** Returns the templates without the images that the user may not use. */
export async function imageTemplates(
  state: string,
  { templates, images, template }: Catalogue,
  user: PullUser,
): Promise<readonly HostTemplate[]> {
  const hidden = hiddenImages(await settingsOrNone(state), images, user);
  if (hidden.size === 0) return templates;
  return templates.map((one) =>
    template(one.id)?.backend === "container" ? { ...one, images: one.images.filter(({ name }) => !hidden.has(name)) } : one,
  );
}

/** Images of a registry that is open to some users only: they came here by a password that the others do not have. */
function hiddenImages(settings: RegistrySettings, images: readonly LocalImage[], user: PullUser): ReadonlySet<string> {
  const isHidden = ({ pulled }: LocalImage) => {
    if (pulled === undefined) return false;
    const users = settings.registries.get(pulled.registry)?.users;
    // A registry that is no longer configured: what an admin pulled from it stays, as if it was added from a file.
    return users !== undefined && !mayUse(settings, pulled.registry, user);
  };
  return new Set(images.filter((image) => image.container !== undefined && isHidden(image)).map(({ name }) => name));
}

/** A wrong file is reported when something is pulled. Until then no registry is open. */
async function settingsOrNone(state: string): Promise<RegistrySettings> {
  return readSettings(state).catch((error: unknown) => {
    if (error instanceof SettingsError) return { registries: new Map(), limits: usualLimits };
    throw error;
  });
}
