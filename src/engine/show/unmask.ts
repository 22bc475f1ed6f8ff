import type { Lab, LabNode, Scalar } from "../../intent/lab/lab.ts";
import { type LabTest, testName } from "../../intent/lab/lab-test.ts";
import type { NodeBoot } from "../../intent/lab/node-boot.ts";
import { hidden, isSensitive } from "../model/sensitive.ts";
import { maskFile } from "./mask.ts";
import { hasDefaultName, mapTexts, maskTests, textsOf } from "./mask-tests.ts";
import { maskText } from "./secret-words.ts";

/** Replaces masked secrets in an edited lab by their known values. `lost` lists masked values that are not known. */
export function unmaskLab(lab: Lab, known: Lab): { readonly lab: Lab; readonly lost: readonly string[] } {
  const secrets = new KnownSecrets();
  const before = new Map(known.nodes.map((node) => [node.key, node]));
  const nodes = lab.nodes.map((node) => unmaskNode(secrets, node, before.get(node.key)));
  const { description, tests, boots } = lab;
  const wasWritten = known.texts.map(({ text }) => text);
  return {
    lab: {
      ...lab,
      ...(description !== undefined && { description: secrets.text("/description", description, listOf(known.description)) }),
      nodes,
      texts: lab.texts.map((one, index) => {
        return { ...one, text: secrets.text(`/texts/${index}`, one.text, wasWritten, placeIn(wasWritten, lab.texts.length, index)) };
      }),
      ...(tests !== undefined && { tests: unmaskTests(secrets, tests, known.tests ?? []) }),
      ...(boots !== undefined && { boots: boots.map((boot) => unmaskBoot(secrets, boot, known.boots ?? [])) }),
    },
    lost: secrets.lost,
  };
}

class KnownSecrets {
  /** Places of masked texts whose secrets are not known. */
  readonly lost: string[] = [];
  /** Known texts by their masked form. A lab has many texts that may stand for each other, so each list is masked once. */
  readonly #byMask = new WeakMap<readonly string[], ReadonlyMap<string, ReadonlySet<string>>>();

  /**
   * Each list has one mask. Returns the known text that looks like `now` without its secrets: the one with this index, or the only one.
   * @param known texts of the same place, and of places that it may have been moved from
   */
  text(place: string, now: string, known: readonly string[], { index, mask = maskText }: Search = {}): string {
    if (!now.includes(hidden)) return now;
    const same = this.#masked(known, mask).get(now) ?? new Set<string>();
    const here = index === undefined ? undefined : known[index];
    if (here !== undefined && same.has(here)) return here;
    const [only] = same;
    if (only !== undefined && same.size === 1) return only;
    this.lost.push(place);
    return now;
  }

  #masked(known: readonly string[], mask: (text: string) => string): ReadonlyMap<string, ReadonlySet<string>> {
    const before = this.#byMask.get(known);
    if (before !== undefined) return before;
    const masked = new Map<string, Set<string>>();
    for (const text of known) {
      const key = mask(text);
      masked.set(key, (masked.get(key) ?? new Set()).add(text));
    }
    this.#byMask.set(known, masked);
    return masked;
  }

  values<T extends Scalar>(place: string, now: Readonly<Record<string, T>>, was: Readonly<Record<string, T>> = {}): Record<string, T> {
    const restored = (name: string, value: T): T => {
      if (typeof value !== "string") return value;
      const old = Object.hasOwn(was, name) ? was[name] : undefined;
      if (!isSensitive(name)) return this.text(`${place}/${name}`, value, typeof old === "string" ? [old] : []) as T;
      if (value !== hidden) return value;
      if (old === undefined) this.lost.push(`${place}/${name}`);
      return old ?? value;
    };
    return Object.fromEntries(Object.entries(now).map(([name, value]) => [name, restored(name, value)]));
  }
}

/** Returns a place in a list of known texts. Without the same number of texts, a place is not that of the same text. */
function placeIn(known: readonly string[], count: number, index: number): Search {
  return known.length === count ? { index } : {};
}

interface Search {
  readonly index?: number;
  readonly mask?: (text: string) => string;
}

function listOf(text: string | undefined): readonly string[] {
  return text === undefined ? [] : [text];
}

function unmaskNode(secrets: KnownSecrets, node: LabNode, was: LabNode | undefined): LabNode {
  const place = `/nodes/${node.key}`;
  const { files, startupConfig } = node;
  const known = was?.exec ?? [];
  const fileText = (path: string, text: string): string => {
    const old = was?.files !== undefined && Object.hasOwn(was.files, path) ? was.files[path]?.text : undefined;
    return secrets.text(`${place}/files/${path}`, text, listOf(old), { mask: (secret) => maskFile(path, secret) });
  };
  return {
    ...node,
    env: secrets.values(`${place}/env`, node.env, was?.env),
    attributes: secrets.values(`${place}/attributes`, node.attributes, was?.attributes),
    labels: secrets.values(`${place}/labels`, node.labels, was?.labels),
    exec: node.exec.map((command, index) =>
      secrets.text(`${place}/exec/${index}`, command, known, placeIn(known, node.exec.length, index)),
    ),
    ...(files !== undefined && {
      files: Object.fromEntries(Object.entries(files).map(([path, file]) => [path, { ...file, text: fileText(path, file.text) }])),
    }),
    ...(startupConfig !== undefined && {
      startupConfig: secrets.text(`${place}/startup-config`, startupConfig, listOf(was?.startupConfig)),
    }),
  };
}

/** A test is recognised by its masked name. One that is not known may contain masked texts that a single known test has. */
function unmaskTests(secrets: KnownSecrets, tests: readonly LabTest[], known: readonly LabTest[]): readonly LabTest[] {
  const byName = new Map(maskTests(known).map(({ name }, index) => [name, known[index] as LabTest]));
  const all = textsOf(known.map(({ check }) => check));
  return tests.map((test, at) => {
    const now = textsOf([test.check]);
    if (![test.name, ...now].some((text) => text.includes(hidden))) return test;
    const was = byName.get(test.name);
    const texts = was === undefined ? all : textsOf([was.check]);
    let index = 0;
    const search = (): Search => (was === undefined ? {} : placeIn(texts, now.length, index++));
    const check = mapTexts(test.check, (text) => secrets.text(`/tests/${at}`, text, texts, search()));
    if (was !== undefined) return { ...test, check, name: was.name };
    return { ...test, check, name: hasDefaultName(test) ? testName(test.from, check) : secrets.text(`/tests/${at}/name`, test.name, []) };
  });
}

function unmaskBoot(secrets: KnownSecrets, boot: NodeBoot, known: readonly NodeBoot[]): NodeBoot {
  const texts = textsOf(known.find(({ node }) => node === boot.node)?.ready ?? []);
  const { length } = textsOf(boot.ready);
  let index = 0;
  const place = `/nodes/${boot.node}/ready`;
  const restored = (text: string) => secrets.text(place, text, texts, placeIn(texts, length, index++));
  return { ...boot, ready: boot.ready.map((check) => mapTexts(check, restored)) };
}
