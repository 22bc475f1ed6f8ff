/** The open streams of labs, by user. If a user loses the right on a lab, the user's streams of the lab end at once. */
export class OpenStreams {
  readonly #streams = new Map<string, Set<() => void>>();

  /** Adds a stream. Returns the function to call when the stream has ended. */
  add(user: string, path: string, close: () => void): () => void {
    const key = keyOf(user, path);
    const streams = this.#streams.get(key) ?? new Set();
    this.#streams.set(key, streams);
    streams.add(close);
    return () => {
      streams.delete(close);
      if (streams.size === 0 && this.#streams.get(key) === streams) this.#streams.delete(key);
    };
  }

  /** Paths of labs with open streams. */
  get paths(): readonly string[] {
    return [...this.#streams.keys()].map((key) => key.slice(key.indexOf("\n") + 1));
  }

  /** Ends all streams of the lab, because it has got another owner, was deleted, or another lab is at its path. */
  endLab(path: string): void {
    for (const [key, streams] of [...this.#streams]) if (key.endsWith(`\n${path}`)) for (const close of [...streams]) close();
  }

  /** Ends this user's streams of the lab. */
  end(user: string, path: string): void {
    for (const close of [...(this.#streams.get(keyOf(user, path)) ?? [])]) close();
  }
}

function keyOf(user: string, path: string): string {
  return `${user}\n${path}`;
}
