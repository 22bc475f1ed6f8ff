import { posix } from "node:path";

/** Matches files of the host's machine. Paths of labs do not begin like this, unless a user has named a folder so. */
const systemPath = /\/(?:boot|etc|home|opt|proc|root|run|srv|sys|tmp|usr|var)(?:\/[^\s"'`:;,()<>]+)+/g;

/** Returns the host's message with the names of its files instead of their paths. */
export function withoutPaths(words: string): string {
  return words.replace(systemPath, (path) => posix.basename(path));
}
