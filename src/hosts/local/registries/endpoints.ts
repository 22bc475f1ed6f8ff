import { readFile } from "node:fs/promises";
import { ArchiveError } from "../../../files/tar/archive-error.ts";
import { readCredentials } from "./credentials.ts";
import type { Endpoint } from "./registry-client.ts";
import { type RegistrySettings, usualRule } from "./settings.ts";

/**
 * Returns the servers to ask for an image of a registry: its mirrors in their order, then the registry itself. Each gets only the credential of its own
 * host. Throws ArchiveError for a CA file that cannot be read.
 */
export async function endpointsOf(state: string, settings: RegistrySettings, registry: string): Promise<readonly Endpoint[]> {
  const credentials = await readCredentials(state);
  const { mirrors } = settings.registries.get(registry) ?? usualRule;
  const endpoint = async (host: string, base: string): Promise<Endpoint> => {
    const ca = await certificatesOf(settings, [host, registry]);
    const credential = credentials.get(host);
    return { base, host, ...(ca !== undefined && { ca }), ...(credential !== undefined && { credential }) };
  };
  const own = settings.registries.get(registry)?.plainHttp === true ? "http" : "https";
  return [
    ...(await Promise.all(mirrors.map((mirror) => endpoint(new URL(mirror).host, mirror.replace(/\/+$/, ""))))),
    await endpoint(registry, `${own}://${registry === "docker.io" ? "registry-1.docker.io" : registry}`),
  ];
}

/** The certificates of the host, or else those of the registry that it mirrors. */
async function certificatesOf({ registries }: RegistrySettings, hosts: readonly string[]): Promise<string | undefined> {
  const path = hosts.flatMap((host) => registries.get(host)?.ca ?? [])[0];
  if (path === undefined) return undefined;
  return readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new ArchiveError(
      "not_found",
      `the certificates ${path} cannot be read: ${error.code ?? error.message}`,
      "labwright registry add HOST --ca FILE",
    );
  });
}
