const suffix = "/shell";

/** Returns the key of a tile with a shell in the node. A tile with the node's console has the node's key. */
export function shellTile(node: string): string {
  return `${node}${suffix}`;
}

/** Returns the node of a shell's tile; undefined for other keys. */
export function nodeOfShell(tile: string): string | undefined {
  return tile.endsWith(suffix) ? tile.slice(0, -suffix.length) : undefined;
}
