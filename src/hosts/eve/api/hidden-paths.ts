import { posix } from "node:path";

/** Files of the host's machine. Paths of labs do not begin like this but where a user has named a folder so. */
const systemPath = /\/(?:boot|etc|home|opt|proc|root|run|srv|sys|tmp|usr|var)(?:\/[^\s"'`:;,()<>]+)+/g;

/** The host's words with each file of its machine as its name alone. */
export function withoutPaths(words: string): string {
  return words.replace(systemPath, (path) => posix.basename(path));
}
