import { ipv4Number } from "../addresses/ipv4.ts";
import type { Problems } from "../diagnostics/problems.ts";
import { type IsisLevel, isisLevels, type Routing, type RoutingProtocol, type RoutingSettings } from "../generate/routing.ts";
import { protocolVocabularies, routingProtocols, routingVocabulary } from "../lab/vocabulary.ts";
import { checkKeys, type Field, field, fieldOf, invalid, isNull, readMap, readNumber, readText, wrongType } from "./fields.ts";

const maxAs = 4_294_967_295;
const isisArea = /^\d{2}(?:\.[\da-f]{4}){0,6}$/i;

/** Reads `routing`: protocol → true, false or its settings. */
export function readRouting(problems: Problems, at: Field): Routing | undefined {
  const map = readMap(problems, at);
  if (map === undefined) return undefined;
  checkKeys(problems, map, at.path, routingVocabulary);
  const result = new Map<RoutingProtocol, RoutingSettings | null>();
  for (const name of routingProtocols) {
    const entry = map.entries.get(name);
    if (entry === undefined) continue;
    const settings = isNull(entry.value) ? null : readProtocol(problems, name, field(entry, at.path));
    if (settings !== undefined) result.set(name, settings);
  }
  return result;
}

function readProtocol(problems: Problems, name: RoutingProtocol, at: Field): RoutingSettings | null | undefined {
  const { value } = at;
  if (value.kind === "scalar" && typeof value.value === "boolean") return value.value ? {} : null;
  if (value.kind !== "map") {
    const isNumber = name === "bgp" && value.kind === "scalar" && /^[1-9]\d*$/.test(value.text);
    return wrongType(
      problems,
      at,
      "true, false or a map",
      isNumber ? `write bgp: {as: ${value.text.slice(0, 20)}}` : `write ${name}: true`,
    );
  }
  checkKeys(problems, value, at.path, protocolVocabularies[name]);
  const [area, level, as] = ["area", "level", "as"].map((key) =>
    protocolVocabularies[name].known.includes(key) ? fieldOf(value, key, at.path) : undefined,
  );
  const ospf = name === "ospf" && area !== undefined ? readOspfArea(problems, area) : undefined;
  const isis = name === "isis" && area !== undefined ? readIsisArea(problems, area) : undefined;
  const wanted = level && readLevel(problems, level);
  const number = as && readNumber(problems, as, { min: 1, max: maxAs, integer: true });
  return {
    ...(ospf !== undefined && { ospfArea: ospf }),
    ...(isis !== undefined && { isisArea: isis }),
    ...(wanted !== undefined && { level: wanted }),
    ...(number !== undefined && { as: number }),
  };
}

/** A number, or four numbers with dots. */
function readOspfArea(problems: Problems, at: Field): number | undefined {
  const dotted = at.value.kind === "scalar" && typeof at.value.value === "string" ? ipv4Number(at.value.value) : undefined;
  return dotted ?? readNumber(problems, at, { min: 0, max: maxAs, integer: true });
}

function readIsisArea(problems: Problems, at: Field): string | undefined {
  const text = readText(problems, at, { loose: true });
  if (text === undefined || isisArea.test(text)) return text;
  return invalid(problems, at, `${JSON.stringify(text.slice(0, 60))} is not an area of IS-IS`, 'write "49.0001"');
}

function readLevel(problems: Problems, at: Field): IsisLevel | undefined {
  const text = readText(problems, at, { loose: true });
  return text === undefined ? undefined : (isisLevels.find((one) => one === text) ?? invalid(problems, at, "it must be 1, 2 or 1-2"));
}
