import { Failure } from "../../../contract/errors.ts";
import type { FetchProgress, WantedImage } from "../../host.ts";
import type { ImagePeers, ImageUser } from "../../host-images.ts";
import type { Pulls } from "../registries/pulls.ts";
import { type RegistrySettings, readSettings, SettingsError } from "../registries/settings.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import { fetchFromPeers } from "./fetch-image.ts";
import { imagesOfPeers } from "./peer-images.ts";

interface Parts {
  /** The state directory. */
  readonly directory: string;
  readonly images: string;
  readonly pulls: Pulls;
  readonly peers: { readonly current?: ImagePeers };
  readonly catalogue: () => Promise<Catalogue>;
}

/**
 * Fetches the images that are missing here and that other machines of the fleet have. One after the other: they share the connection. Throws image_pull_failed.
 */
export async function fetchMissing(
  { directory, images, pulls, peers: { current: peers }, catalogue }: Parts,
  user: ImageUser,
  wanted: readonly WantedImage[],
  { signal, say }: FetchProgress,
): Promise<void> {
  if (peers === undefined) return;
  const needed = imagesOfPeers(wanted, await catalogue(), peers, user);
  if (needed.length === 0) return;
  const { limits } = await settingsOf(directory);
  for (const one of needed) {
    const [{ machine }] = one.holders;
    await fetchFromPeers(
      one,
      { images, pulls, peers, user, limits },
      { signal, say: (text) => say(`from machine ${machine.name}: ${text}`) },
    );
  }
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
