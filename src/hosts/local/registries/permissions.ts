import type { ImageReference } from "../../../engine/model/image-reference.ts";
import type { RegistrySettings } from "./settings.ts";

/** A user as far as registries are concerned. */
export interface PullUser {
  readonly name: string;
  readonly role: "admin" | "user" | "viewer";
}

/** Returns whether the user may use images of this registry. Admins may use any registry, others those that are configured for them. */
export function mayUse({ registries }: RegistrySettings, registry: string, { name, role }: PullUser): boolean {
  if (role === "admin") return true;
  const users = registries.get(registry)?.users;
  return users === "all" || (Array.isArray(users) && users.includes(name));
}

/** Returns the registries whose images the user's labs may name, sorted; "any" for an admin. */
export function registriesOf(settings: RegistrySettings, user: PullUser): readonly string[] | "any" {
  if (user.role === "admin") return "any";
  return [...settings.registries.keys()].filter((registry) => mayUse(settings, registry, user)).sort();
}

/** Returns the registry that is asked first for a reference, for messages. */
export function shownReference({ registry, repository, tag, digest }: ImageReference): string {
  return `${registry}/${repository}${tag === undefined ? "" : `:${tag}`}${digest === undefined ? "" : `@sha256:${digest}`}`;
}
