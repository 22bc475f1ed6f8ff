/** The parts of the lab's JSON Schema that completion uses. */
export interface Schema {
  readonly $ref?: string;
  readonly title?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly type?: string | readonly string[];
  readonly definitions?: Readonly<Record<string, Schema>>;
}

/** The inputs of completion, besides the text. */
export interface Names {
  readonly schema: Schema;
  /** Templates that the host has. */
  readonly templates: readonly string[];
}

export interface Suggestion {
  readonly label: string;
  readonly detail?: string;
  readonly apply?: string;
}

export interface Suggestions {
  /** The part of the word before the cursor. */
  readonly typed: string;
  readonly options: readonly Suggestion[];
}

/** Returns the completions at the end of `before`, the text up to the cursor: keys and values of the schema, templates, or ends of links. */
export function suggestionsAt(before: string, { schema, templates }: Names): Suggestions | undefined {
  const lines = before.split("\n");
  const line = lines.pop() ?? "";
  if (/(^|\s)#/.test(line)) return undefined;
  const path = pathTo(lines, line);
  const value = /(?:^|[\s{,-])"?([\w.-]+)"?:\s+"?([\w.-]*)$/.exec(line);
  if (path[0] === "links" && /["'[,\s-][\w.:-]*$/.test(line) && value === null && (/\[/.test(line) || path.includes("endpoints"))) {
    const typed = /[\w.:-]*$/.exec(line)?.[0] ?? "";
    return { typed, options: endsOf(before).map((label) => ({ label })) };
  }
  if (value !== null) {
    const [, key = "", typed = ""] = value;
    if (key === "template") return { typed, options: templates.map((label) => ({ label, detail: "template" })) };
    const options = valuesOf(schemasAt(schema, [...path, key]), schema).map((label) => ({ label }));
    return options.length === 0 ? undefined : { typed, options };
  }
  const key = /(?:^\s*(?:- )?|[{,]\s*)([\w.-]*)$/.exec(line);
  if (key === null) return undefined;
  const properties = schemasAt(schema, path).flatMap((one) => Object.entries(one.properties ?? {}));
  const options = new Map(properties.map(([name, one]) => [name, suggestionOf(name, one)]));
  return options.size === 0 ? undefined : { typed: key[1] ?? "", options: [...options.values()] };
}

function suggestionOf(label: string, { title, description }: Schema): Suggestion {
  const detail = description ?? title;
  return { label, apply: `${label}: `, ...(detail !== undefined && { detail: detail.slice(0, 60) }) };
}

/** Returns the keys that enclose the cursor, by indentation and by the braces of its line; "-" for a list item. */
function pathTo(lines: readonly string[], line: string): readonly string[] {
  const path: string[] = [];
  let indent = /^\s*/.exec(line)?.[0].length ?? 0;
  if (/^\s*- /.test(line)) {
    path.unshift("-");
  }
  const inBrace = /^\s*(?:- )?"?([\w.-]+)"?:\s*\{[^}]*$/.exec(line);
  if (inBrace !== null) path.push(inBrace[1]!);
  for (const above of lines.toReversed()) {
    if (/^\s*(#|$)/.test(above)) continue;
    const own = /^\s*/.exec(above)![0].length;
    const item = /^\s*- /.test(above);
    const key = /^\s*(?:- )?"?([\w.-]+)"?:\s*(?:#.*)?$/.exec(above)?.[1];
    if (item && own < indent) {
      path.unshift("-");
      indent = own;
      continue;
    }
    // A list may have the same indentation as its key.
    if (key === undefined || !(own < indent || (own === indent && path[0] === "-" && !item))) continue;
    path.unshift(key);
    indent = own;
    if (own === 0) break;
  }
  return path[0] === "topology" ? path.slice(1) : path;
}

/** Returns the schemas at a path: all alternatives. */
function schemasAt(root: Schema, path: readonly string[]): readonly Schema[] {
  let found = alternatives(root, root);
  for (const part of path) {
    found = found
      .flatMap((one): readonly (Schema | undefined)[] => {
        if (part === "-") return [one.items];
        const own = one.properties?.[part];
        if (own !== undefined) return [own];
        return typeof one.additionalProperties === "object" ? [one.additionalProperties] : [];
      })
      .flatMap((one) => (one === undefined ? [] : alternatives(one, root)));
  }
  return found;
}

function alternatives(schema: Schema, root: Schema): readonly Schema[] {
  const named = schema.$ref === undefined ? undefined : root.definitions?.[schema.$ref.replace("#/definitions/", "")];
  return [schema, ...[named, ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].flatMap((one) => (one ? alternatives(one, root) : []))];
}

function valuesOf(schemas: readonly Schema[], root: Schema): readonly string[] {
  const values = schemas
    .flatMap((one) => alternatives(one, root))
    .flatMap((one) => [...(one.enum ?? []).filter((value) => value !== null).map(String), ...(isFlag(one) ? ["true", "false"] : [])]);
  return [...new Set(values)];
}

/** Returns free ends of links: the next interface of each node, and the networks. A simple guess by regular expressions; the service checks the text. */
function endsOf(text: string): readonly string[] {
  const section = (name: string) =>
    new RegExp(`^(?: {0,2})${name}:[^\\n]*\\n((?:[ \\t]+[^\\n]*\\n|\\s*\\n)*)`, "m").exec(`${text}\n`)?.[1] ?? "";
  const keysOf = (body: string) => {
    const indent = /^( +)\S/m.exec(body)?.[1] ?? "  ";
    return [...body.matchAll(new RegExp(`^${indent}"?([\\w.-]+)"?:`, "gm"))].map(([, key]) => key!);
  };
  const used = new Set([...text.matchAll(/([\w.-]+:[\w./-]+)/g)].map(([end]) => end));
  const nodes = keysOf(section("nodes")).map((node) => {
    let index = 0;
    while (used.has(`${node}:eth${index}`)) index++;
    return `${node}:eth${index}`;
  });
  return [...nodes, ...keysOf(section("networks"))];
}

/** Whether the schema allows only true or false: completion is useless for a value that may also be any text. */
function isFlag({ type }: Schema): boolean {
  const types = [type ?? []].flat();
  // A text that is any scalar is not a flag. A flag can be a text with a reference.
  return types.includes("boolean") && !types.includes("number");
}
