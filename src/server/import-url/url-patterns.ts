import { isIP } from "node:net";

/** A host from which files may be loaded. */
export interface UrlPattern {
  /** As the administrator wrote it. */
  readonly text: string;
  readonly protocol: "https:" | "http:";
  /** Lower case, in the notation of URLs; "" for every host. */
  readonly host: string;
  /** Whether only the subdomains of `host` are meant. */
  readonly isWildcard: boolean;
  readonly port: string;
  /** Whether `host` is an address: then it may be private. */
  readonly isAddress: boolean;
}

const defaultPorts = { "https:": "443", "http:": "80" } as const;

/** Parses HOST, *.DOMAIN, * or ADDRESS, each with :PORT, and with http:// for plain HTTP. Throws an error for the administrator. */
export function parseUrlPattern(text: string): UrlPattern {
  const wrong = () =>
    new Error(
      `--import-url-allow takes a host such as git.example, *.example, 10.1.2.3:8443 or http://files.example, not ${JSON.stringify(text)}`,
    );
  const [, scheme = "https", wildcard, rest = ""] = /^(?:(https?):\/\/)?(\*\.)?([^/?#@\\\s*]+|\*)$/i.exec(text.trim()) ?? [];
  const isEvery = rest === "*" && wildcard === undefined;
  if (rest === "" || (rest === "*" && !isEvery)) throw wrong();
  const protocol = `${scheme.toLowerCase()}:` as UrlPattern["protocol"];
  if (isEvery) return { text, protocol, host: "", isWildcard: true, port: defaultPorts[protocol], isAddress: false };
  const url = URL.parse(`${protocol}//${rest}`);
  if (url === null || url.hostname === "" || url.pathname !== "/") throw wrong();
  const isAddress = isIP(url.hostname.replace(/^\[|\]$/g, "")) !== 0;
  if (isAddress && wildcard !== undefined) throw wrong();
  return { text, protocol, host: url.hostname, isWildcard: wildcard !== undefined, port: url.port || defaultPorts[protocol], isAddress };
}

/** Returns the pattern that allows a URL; undefined: none does. Patterns without a port allow the usual port of their protocol. */
export function patternOf(patterns: readonly UrlPattern[], url: URL): UrlPattern | undefined {
  const isAddress = isIP(url.hostname.replace(/^\[|\]$/g, "")) !== 0;
  // A dot at the end makes the name of a host absolute, and nothing else.
  const host = url.hostname.replace(/\.$/, "");
  return patterns.find((pattern) => {
    if (pattern.protocol !== url.protocol || pattern.port !== (url.port || defaultPorts[pattern.protocol])) return false;
    if (isAddress) return pattern.isAddress && pattern.host === url.hostname;
    return pattern.isWildcard ? pattern.host === "" || host.endsWith(`.${pattern.host}`) : host === pattern.host;
  });
}
