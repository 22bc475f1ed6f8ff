import { classful, networkOf, prefixOf } from "./addresses.ts";
import type { IosLine } from "./ios-blocks.ts";

/** Options of a neighbor that FRR has in the session. */
const ofSession =
  /^(remote-as \S+|description .+|ebgp-multihop( \d+)?|password .+|peer-group( \S+)?|timers( connect)? [\d ]+|shutdown|local-as .+|ttl-security hops \d+|bfd)$/i;
/** Options of a neighbor that FRR has in an address family. */
const ofFamily =
  /^(activate|next-hop-self( all)?|route-reflector-client|send-community.*|soft-reconfiguration inbound|default-originate|allowas-in( \d+)?|weight \d+|maximum-prefix [\d ]+|remove-private-as|as-override)$/i;

/** Returns the FRR lines of `router bgp`. `leave` takes what is not understood. */
export function bgpLines(block: IosLine, faceOf: (name: string) => string | undefined, leave: (line: IosLine) => void): readonly string[] {
  const session: string[] = [];
  const families = new Map<string, string[]>();
  const familyOf = (name: string): string[] => {
    const found = families.get(name) ?? [];
    families.set(name, found);
    return found;
  };
  let family: string | undefined = "ipv4 unicast";
  for (const line of block.children) {
    const { text } = line;
    const [, chosen] = /^address-family (.+)$/i.exec(text) ?? [];
    if (chosen !== undefined) {
      family = /^ipv[46]( unicast)?$/i.test(chosen) ? `${chosen.split(" ")[0]?.toLowerCase()} unicast` : undefined;
      if (family === undefined) leave(line);
    } else if (/^exit(-address-family)?$/i.test(text)) family = "ipv4 unicast";
    else if (family === undefined) leave(line);
    else if (!translated(text, { session, into: familyOf(family), faceOf })) leave(line);
  }
  return [
    block.text,
    // As on IOS, sessions to other systems need no policy.
    " no bgp ebgp-requires-policy",
    ...session.map((line) => ` ${line}`),
    ...[...families].flatMap(([name, lines]) =>
      lines.length === 0 ? [] : [` address-family ${name}`, ...lines.map((line) => `  ${line}`), " exit-address-family"],
    ),
    "exit",
  ];
}

interface Target {
  readonly session: string[];
  readonly into: string[];
  readonly faceOf: (name: string) => string | undefined;
}

/** Returns false for a line that is not understood. */
function translated(text: string, { session, into, faceOf }: Target): boolean {
  if (/^(no (synchronization|auto-summary)|bgp log-neighbor-changes|auto-summary|synchronization)$/i.test(text)) return true;
  const [, router] = /^(?:bgp )?router-id (\S+)$/i.exec(text) ?? [];
  if (router !== undefined) return session.push(`bgp router-id ${router}`) > 0;
  if (/^(no )?bgp default ipv4-unicast$|^bgp (bestpath .+|cluster-id \S+|always-compare-med|deterministic-med)$/i.test(text))
    return session.push(text) > 0;
  const [, negation = "", peer, option = ""] = /^(no )?neighbor (\S+) (.+)$/i.exec(text) ?? [];
  if (peer !== undefined) {
    const source = /^update-source (.+)$/i.exec(option)?.[1];
    if (source !== undefined) {
      const face = faceOf(source);
      return face !== undefined && session.push(`${negation}neighbor ${peer} update-source ${face}`) > 0;
    }
    // EOS and newer releases write "peer group".
    const plain = option.replace(/^peer group/i, "peer-group").replace(/^remove-private-as$/i, "remove-private-AS");
    if (ofSession.test(plain)) return session.push(`${negation}neighbor ${peer} ${plain}`) > 0;
    return (
      (ofFamily.test(plain) &&
        into.push(`${negation}neighbor ${peer} ${plain.replace(/^(send-community) standard extended$/i, "$1 both")}`) > 0) ||
      false
    );
  }
  const [, network, mask] = /^network (\S+)(?: mask (\S+))?$/i.exec(text) ?? [];
  if (network !== undefined) {
    const prefix = network.includes(":")
      ? network
      : mask === undefined && !network.includes("/")
        ? classful(network)
        : prefixOf(network, mask);
    return prefix !== undefined && into.push(`network ${prefix.includes(":") ? prefix : networkOf(prefix)}`) > 0;
  }
  const [, protocol] = /^redistribute (connected|static|ospf|rip|isis|kernel)\b(?: \d+)?(?: match .+)?$/i.exec(text) ?? [];
  if (protocol !== undefined) return into.push(`redistribute ${protocol.toLowerCase()}`) > 0;
  const [, base, wide, summary = ""] = /^aggregate-address (\S+)(?: (\d\S+))?( summary-only)?$/i.exec(text) ?? [];
  const aggregate = base === undefined ? undefined : prefixOf(base, wide);
  if (aggregate !== undefined) return into.push(`aggregate-address ${aggregate}${summary}`) > 0;
  if (/^maximum-paths (ibgp )?\d+$/i.test(text)) return into.push(text) > 0;
  return false;
}
