import { ipv4Number, ipv4Text } from "../addresses/ipv4.ts";
import { ipv6Number, ipv6Text } from "../addresses/ipv6.ts";
import type { Problems } from "../diagnostics/problems.ts";
import { type PublishedPort, portText, publishedPort } from "../lab/published-port.ts";
import { sshKeyProblem } from "../parse/ssh-key.ts";
import { type Field, invalid, readList, readText, wrongType } from "./fields.ts";

const portForm = 'write PORT:NODE-PORT, such as "8080:80" or "5353:53/udp"';

/** Reads `ports` of a node. Returns them in their shortest notation, sorted. */
export function readPorts(problems: Problems, at: Field): readonly string[] | undefined {
  if (at.value.kind === "scalar") return wrongType(problems, at, "a list of ports", portForm);
  const found = readList(problems, at)?.flatMap((item) => {
    const text = readText(problems, item);
    const port = text === undefined ? undefined : readPort(problems, item, text);
    return port === undefined ? [] : [portText(port)];
  });
  return found && [...new Set(found)].sort();
}

function readPort(problems: Problems, at: Field, text: string): PublishedPort | undefined {
  const [, ports = "", protocol = "tcp"] = /^(.*?)(?:\/(\w+))?$/s.exec(text) ?? [];
  const kind = protocol.toLowerCase();
  const port = kind === "tcp" || kind === "udp" ? publishedPort(`${ports}${kind === "udp" ? "/udp" : ""}`) : undefined;
  if (port === undefined) return invalid(problems, at, `"${text.slice(0, 60)}" is not a port`, portForm);
  const { address, ...loopback } = port;
  if (address === undefined || address === "127.0.0.1") return loopback;
  if (!address.includes(":") && address.split(".").some((part) => Number(part) > 255))
    return invalid(problems, at, `${address.slice(0, 60)} is not an IP address`, portForm);
  return port;
}

/** Reads an address of a node. Whether it is in the network is checked with the lab's management network. */
export function readMgmtIpv4(problems: Problems, at: Field): string | undefined {
  const text = readText(problems, at);
  const address = text === undefined ? undefined : ipv4Number(text);
  if (text === undefined || address !== undefined) return address === undefined ? undefined : ipv4Text(address);
  return invalid(problems, at, `${JSON.stringify(text.slice(0, 60))} is not an IPv4 address`, "write it without a prefix: 172.20.20.11");
}

export function readMgmtIpv6(problems: Problems, at: Field): string | undefined {
  const text = readText(problems, at);
  const address = text === undefined ? undefined : ipv6Number(text);
  if (text === undefined || address !== undefined) return address === undefined ? undefined : ipv6Text(address);
  return invalid(problems, at, `${JSON.stringify(text.slice(0, 60))} is not an IPv6 address`, "write it without a prefix: fd00:20:20::11");
}

const maxSshKeys = 64;
/** Reads public keys in the notation of authorized_keys, without options. */
export function readSshKeys(problems: Problems, at: Field): readonly string[] | undefined {
  const hint = "write the line of a .pub file";
  if (at.value.kind === "scalar") return wrongType(problems, at, "a list of public keys", hint);
  const items = readList(problems, at);
  if (items !== undefined && items.length > maxSshKeys) return invalid(problems, at, `it must have at most ${maxSshKeys} keys`);
  return items?.flatMap((item) => {
    const text = readText(problems, item)?.trim();
    const problem = text === undefined ? undefined : sshKeyProblem(text);
    return (problem === undefined ? text : invalid(problems, item, problem, hint)) ?? [];
  });
}
