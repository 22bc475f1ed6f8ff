/** A file that was loaded from a URL. */
export interface LoadedSource {
  /** The last part of the path. */
  readonly filename: string;
  readonly bytes: Uint8Array;
}

/** The imports by URL that the administrator of the service allows. The service itself opens no connections. */
export interface UrlImports {
  /** The patterns of the allowed hosts, for people. */
  readonly hosts: readonly string[];
  /** Loads a file. Throws invalid_source for other hosts and private addresses, if it cannot be loaded, and if it is too large; rate_limited. */
  readonly load: (url: string, user: string) => Promise<LoadedSource>;
}
