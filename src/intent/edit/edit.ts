import { isAlias, isMap, isScalar, isSeq, type Node, type YAMLMap } from "yaml";
import { Failure } from "../../contract/errors.ts";
import { Problems } from "../diagnostics/problems.ts";
import { showDiagnostics } from "../diagnostics/show.ts";
import { canonicalLab, sameData } from "../lab/canonical.ts";
import type { Lab } from "../lab/lab.ts";
import type { NodeBoot } from "../lab/node-boot.ts";
import { separateFiles } from "../lab/separate-files.ts";
import { checkFiles } from "../parse/files.ts";
import { variablesEntry } from "../parse/variables.ts";
import { type Reading, readDocument } from "../read/read.ts";
import { authorManagement } from "../write/author.ts";
import { CannotRewrite } from "../write/layout.ts";
import { type IntentText, printLab } from "../write/print.ts";
import { authoredNodes } from "./authored.ts";
import { changeFilters, changeShapes, changeTexts } from "./edit-extras.ts";
import { changeLinks } from "./edit-links.ts";
import { changeNetworks, changeNodes } from "./edit-nodes.ts";
import { CannotChangePart, escaped, firstHelper } from "./expanded.ts";
import { Changes, expandAliases, type Items, materialise, remove, rewrite, type Target } from "./rewrite.ts";

/** Highest number of passes. Each pass repairs side effects of the one before, for instance through an anchor; more are never needed. */
const MAX_PASSES = 4;

/**
 * Changes an intent so that reading it gives `wanted`. Changes only the necessary parts: comments, order, quotes, blank lines and inheritance stay.
 * If several nodes want different texts of one file, all but one get a file of their own (see separateFiles). A text that cannot be changed in place
 * is printed again by printLab.
 * @throws Failure invalid_intent if the text cannot be read, or `wanted` is not a lab that can be written.
 */
export function editIntent(yaml: string, files: Readonly<Record<string, string>>, wanted: Lab): IntentText {
  const known = checkFiles(files).files;
  const given = separateFiles(canonicalLab(wanted), known);
  const first = readDocument(yaml, { ...withFiles(files, given.needed), ...files }, { keepTokens: true });
  if (first.reading === undefined) {
    throw new Failure("invalid_intent", showDiagnostics(first.diagnostics, { yaml, files }), { data: { diagnostics: first.diagnostics } });
  }
  const { generated } = first.reading;
  const separated = generated === undefined ? given : separateFiles(authoredLab(yaml, first.reading, given.lab), known);
  const all = withFiles(files, separated.needed);
  // The lease, the place, tests and boots do not describe the structure: those of the text stay.
  const kept = new Set(separated.lab.nodes.map(({ key }) => key));
  const { lease: _lease, place: _place, ...structure } = separated.lab;
  const { lease, place } = first.lab ?? {};
  const lab = canonicalLab({
    ...structure,
    ...(lease !== undefined && { lease }),
    ...(place !== undefined && { place }),
    tests: first.lab?.tests ?? [],
    boots: remaining(first.lab?.boots ?? [], kept),
  });
  const { document } = first.reading;
  const inPlace =
    editInPlace(yaml, all, lab) ??
    editInPlace(expandAliases(yaml, document), all, lab) ??
    printUnlessHelpers(yaml, first.reading, lab, all);
  return { yaml: inPlace, files: all };
}

/** Returns the wanted lab without what the text's helpers make. Throws Failure for a change of a made part. */
function authoredLab(yaml: string, reading: Reading, wanted: Lab): Lab {
  try {
    return canonicalLab({ ...wanted, nodes: authoredNodes(reading, wanted.nodes) });
  } catch (error) {
    throw error instanceof CannotChangePart ? refusedAt(yaml, error) : error;
  }
}

/** Returns the boots of these nodes, without dependencies on others. */
function remaining(boots: readonly NodeBoot[], nodes: ReadonlySet<string>): readonly NodeBoot[] {
  return boots
    .filter(({ node }) => nodes.has(node))
    .map((boot) => ({ ...boot, dependsOn: boot.dependsOn.filter(({ node }) => nodes.has(node)) }))
    .filter(({ ready, dependsOn }) => ready.length + dependsOn.length > 0);
}

/** Returns undefined if the text has a form that cannot be changed in place. */
function editInPlace(yaml: string, files: Readonly<Record<string, string>>, wanted: Lab): string | undefined {
  let text = yaml;
  for (let pass = 0; pass <= MAX_PASSES; pass++) {
    const { lab, reading } = readDocument(text, files, { keepTokens: true });
    if (lab === undefined || reading === undefined) return undefined;
    if (sameData(structureOf(reading.authored), structureOf(wanted))) return text;
    try {
      const changes = changesOf(reading, reading.authored, wanted);
      text = rewrite(text, reading.document, variablesEntry(reading.root) === undefined ? changes : escaped(changes));
    } catch (error) {
      if (error instanceof CannotRewrite) return undefined;
      if (error instanceof CannotChangePart) throw refusedAt(text, error);
      throw error;
    }
  }
  return undefined;
}

/** Returns the lab without its inheritance, which an edit keeps where it can, and without conditions, which a node that the edit adds can inherit. */
function structureOf({ inherited: _inherited, boots = [], ...structure }: Lab): Lab {
  return { ...structure, boots: boots.flatMap(({ node, dependsOn }) => (dependsOn.length > 0 ? [{ node, ready: [], dependsOn }] : [])) };
}

/** A printed lab has no variables and no ranges: a text with them that cannot be changed in place is refused. */
function printUnlessHelpers(yaml: string, reading: Reading, lab: Lab, files: Readonly<Record<string, string>>): string {
  const helper = firstHelper(reading);
  if (helper === undefined) return print(lab, files);
  const line = new Problems(yaml).line(helper.place.start);
  throw refused(`this change would remove ${helper.what} (line ${line}) from the text. Change the text by hand.`);
}

function refusedAt(text: string, { place, message }: CannotChangePart): Failure {
  return refused(`line ${new Problems(text).line(place.start)}: ${message}`);
}

function refused(message: string): Failure {
  return new Failure("invalid_intent", message, { data: { diagnostics: [] } });
}

function print(lab: Lab, files: Readonly<Record<string, string>>): string {
  const { yaml } = printLab(lab);
  const { lab: read, diagnostics } = readDocument(yaml, files);
  if (read !== undefined && sameData(structureOf(read), structureOf(lab))) return yaml;
  throw new Failure("invalid_intent", showDiagnostics(diagnostics, { yaml, files }) || "the lab cannot be written as an intent", {
    data: { diagnostics },
  });
}

/** Returns the given files, with the wanted texts under their names. */
function withFiles(files: Readonly<Record<string, string>>, needed: ReadonlyMap<string, string>): Readonly<Record<string, string>> {
  const names = new Map<string, string>();
  for (const name of Object.keys(files))
    names.set(
      name
        .split("/")
        .filter((part) => part !== "" && part !== ".")
        .join("/"),
      name,
    );
  const changed = [...needed].map(([file, text]) => [names.get(file) ?? file, text] as const);
  if (changed.every(([name, text]) => Object.hasOwn(files, name) && files[name] === text)) return files;
  return Object.fromEntries([...Object.entries(files), ...changed]);
}

const rootOrder = [
  "name",
  "description",
  "management",
  "mgmt",
  "lease",
  "place",
  "topology",
  "defaults",
  "kinds",
  "groups",
  "nodes",
  "networks",
  "links",
  "traffic_filters",
  "texts",
  "shapes",
];

function changesOf(reading: Reading, before: Lab, after: Lab): Changes {
  const root = new Map<string, Target | typeof remove>();
  if (before.name !== after.name) root.set("name", after.name);
  if (before.description !== after.description) root.set("description", after.description ?? remove);
  if (!sameData(before.management, after.management)) {
    const key = reading.root.entries.has("mgmt") ? "mgmt" : "management";
    root.set(key, after.management === undefined ? remove : authorManagement(after.management));
  }

  const sections = new Map<string, Changes | Items | undefined>([
    ["nodes", changeNodes(reading, before, after)],
    ["networks", changeNetworks(reading, before, after)],
    ["links", changeLinks(reading, before, after)],
    ["traffic_filters", changeFilters(reading, before, after)],
    ["texts", changeTexts(reading, after)],
    ["shapes", changeShapes(reading, after)],
  ]);
  const body = new Map<string, Target>();
  const contents = reading.document.contents as YAMLMap;
  for (const [key, changes] of sections) {
    if (changes === undefined) continue;
    // A section stays at its level, inside or outside the wrapper.
    const inWrapper = reading.bodyPath !== "" && nodeAt(contents, key) === undefined;
    const holder = inWrapper ? (nodeAt(contents, "topology") as YAMLMap) : contents;
    (inWrapper ? body : root).set(key, inPlace(nodeAt(holder, key), changes));
  }
  if (body.size > 0) root.set("topology", new Changes(body, rootOrder));
  return new Changes(root, rootOrder);
}

/** An empty section (`links:`) has no entries to change in place: it is written as a whole. */
function inPlace(node: Node | undefined, changes: Changes | Items): Target {
  if (node === undefined || isMap(node) || isSeq(node) || isAlias(node)) return changes;
  if (!isScalar(node)) throw new CannotRewrite("a section is neither a map nor a list");
  return materialise(changes);
}

function nodeAt(map: YAMLMap, key: string): Node | undefined {
  const pair = map.items.find((some) => isScalar(some.key) && some.key.value === key);
  return (pair?.value ?? undefined) as Node | undefined;
}
