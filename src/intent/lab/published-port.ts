/** A port of the service's machine that leads to a port of a node. */
export interface PublishedPort {
  /** An IPv4 or IPv6 address of the machine. Absent: its loopback addresses. */
  readonly address?: string;
  /** On the service's machine. */
  readonly port: number;
  readonly nodePort: number;
  /** Absent: TCP. */
  readonly protocol?: "udp";
}

/** Returns the port of a text as portText writes it; undefined for any other text. */
export function publishedPort(text: string): PublishedPort | undefined {
  const [, brackets, plain, port, nodePort, udp] =
    /^(?:\[([0-9a-fA-F:.]+)\]:|(\d+(?:\.\d+){3}):)?(\d{1,5}):(\d{1,5})(\/udp)?$/.exec(text) ?? [];
  const numbers = { port: Number(port), nodePort: Number(nodePort) };
  const isPort = (number: number) => number >= 1 && number <= 65_535;
  if (!isPort(numbers.port) || !isPort(numbers.nodePort)) return undefined;
  const address = brackets ?? plain;
  return { ...(address !== undefined && { address }), ...numbers, ...(udp !== undefined && { protocol: "udp" }) };
}

/** Returns the notation of Docker and containerlab: 8080:80, 5353:53/udp, 192.0.2.1:8080:80, [2001:db8::1]:8080:80. */
export function portText({ address, port, nodePort, protocol }: PublishedPort): string {
  const place = address === undefined ? "" : address.includes(":") ? `[${address}]:` : `${address}:`;
  return `${place}${port}:${nodePort}${protocol === undefined ? "" : "/udp"}`;
}
