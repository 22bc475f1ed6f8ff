/** An image in a registry: registry.example:5000/frrouting/frr:10.2, or with a digest instead of the tag. */
export interface ImageReference {
  /** Host name or address, with its port if it has one: docker.io for Docker Hub. */
  readonly registry: string;
  /** Path of the image in the registry, such as frrouting/frr. */
  readonly repository: string;
  /** The tag; latest unless the reference has a tag or a digest. */
  readonly tag?: string;
  /** SHA-256 (hex) of the manifest. It decides if there is a tag as well. */
  readonly digest?: string;
}

const hostForm = /^(?=.{1,253}(:|$))[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*(:[1-9][0-9]{0,4})?$/;
const repositoryForm = /^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(\/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$/;
const tagForm = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;

/**
 * Parses the name of an image as docker does: the part before the first slash is a registry if it has a dot or a colon, or is localhost. Otherwise the
 * image is in the default registry. Returns the problem, for people, if the text names no image of a registry.
 */
export function imageReference(text: string, defaultRegistry?: string): ImageReference | { readonly problem: string } {
  const [, named = "", hex] = /^([^@]*)(?:@sha256:([0-9a-f]{64}))?$/.exec(text) ?? [];
  if (named === "" || named.length > 255)
    return { problem: `${JSON.stringify(text)} is not REGISTRY/NAME:TAG or REGISTRY/NAME@sha256:DIGEST` };
  const slash = named.indexOf("/");
  const first = slash < 0 ? "" : named.slice(0, slash).toLowerCase();
  const hasHost = /[.:]/.test(first) || first === "localhost";
  const registry = hasHost ? hubName(first) : defaultRegistry;
  if (registry === undefined) return { problem: "it names no registry, and the host has no default registry" };
  if (!isRegistry(registry)) return { problem: `${JSON.stringify(registry)} is not the name of a registry` };
  const rest = hasHost ? named.slice(slash + 1) : named;
  const [, path = "", tag] = /^([^:]*)(?::(.*))?$/s.exec(rest) ?? [];
  const repository = registry === "docker.io" && !path.includes("/") ? `library/${path}` : path;
  if (!repositoryForm.test(repository))
    return { problem: `${JSON.stringify(path)} is not the name of an image: small letters, digits and . _ - /` };
  if (tag !== undefined && !tagForm.test(tag)) return { problem: `${JSON.stringify(tag)} is not a tag` };
  if (hex !== undefined) return { registry, repository, ...(tag !== undefined && { tag }), digest: hex };
  return { registry, repository, tag: tag ?? "latest" };
}

/** Returns whether the text is a host name or an IPv4 address in small letters, with a port or without. */
export function isRegistry(text: string): boolean {
  const [, port = "1"] = text.split(":");
  return hostForm.test(text) && Number(port) <= 65_535;
}

/** Docker Hub has several names. */
export function hubName(host: string): string {
  return ["index.docker.io", "registry-1.docker.io", "registry.hub.docker.com"].includes(host) ? "docker.io" : host;
}
