import { ipv4Number, ipv4Text, isMachineAddress } from "../addresses/ipv4.ts";
import type { Problems } from "../diagnostics/problems.ts";
import type { Vxlan } from "../lab/lab.ts";
import { vxlanLimits, vxlanPort } from "../lab/lab.ts";
import { vxlanVocabulary } from "../lab/vocabulary.ts";
import { checkKeys, type Field, fieldOf, invalid, isNull, readMap, readNumber, readText } from "./fields.ts";

/** Reads `vxlan` of a network. */
export function readVxlan(problems: Problems, at: Field): Vxlan | undefined {
  const map = readMap(problems, at);
  if (map === undefined) return undefined;
  checkKeys(problems, map, at.path, vxlanVocabulary);
  const [remoteField, vniField, portField] = ["remote", "vni", "port"].map((key) => fieldOf(map, key, at.path));
  for (const [key, given] of Object.entries({ remote: remoteField, vni: vniField }))
    if (given === undefined)
      problems.error("missing_key", at.place, at.path, `vxlan needs ${key}`, "vxlan: {remote: 192.0.2.7, vni: 1001}");
  const remote = remoteField && readRemote(problems, remoteField);
  const vni = vniField && readNumber(problems, vniField, { integer: true, ...vxlanLimits.vni });
  const hasPort = portField !== undefined && !isNull(portField.value);
  const port = hasPort ? readNumber(problems, portField, { integer: true, ...vxlanLimits.port }) : undefined;
  if (remote === undefined || vni === undefined) return undefined;
  return { remote, vni, ...(port !== undefined && port !== vxlanPort && { port }) };
}

function readRemote(problems: Problems, at: Field): string | undefined {
  const text = readText(problems, at);
  const number = text === undefined ? undefined : ipv4Number(text);
  if (text === undefined) return undefined;
  if (number === undefined)
    return invalid(problems, at, `${JSON.stringify(text.slice(0, 60))} is not an IPv4 address`, "write it without a prefix: 192.0.2.7");
  if (!isMachineAddress(number)) return invalid(problems, at, `${ipv4Text(number)} is not an address of another machine`);
  return ipv4Text(number);
}
