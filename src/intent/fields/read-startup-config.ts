import { didYouMean } from "../diagnostics/nearest.ts";
import type { Problems } from "../diagnostics/problems.ts";
import { configVocabulary } from "../lab/vocabulary.ts";
import { normalFilePath } from "../parse/files.ts";
import { checkKeys, type Field, field, fieldOf, invalid, readText, spot } from "./fields.ts";

export interface StartupConfig {
  readonly text: string;
  /** The path in files, if the text came from there. */
  readonly file?: string;
  /** The text is a template, which is rendered for each node. */
  readonly template?: TemplateSource;
}

export interface TemplateSource {
  /** The path in files. */
  readonly file: string;
  /** The reference in the lab's text. */
  readonly at: Field;
}

interface GivenFiles {
  readonly problems: Problems;
  readonly files: ReadonlyMap<string, string>;
}

/** Maximum characters: plans show a configuration before and after, and hosts store it with each node. */
const MAX_CONFIG = 1_048_576;

function bounded(problems: Problems, at: Field, config: StartupConfig): StartupConfig | undefined {
  if (config.text.length <= MAX_CONFIG) return config;
  problems.error("too_large", spot(at), at.path, `a startup-config has at most ${MAX_CONFIG} characters`);
  return undefined;
}

/** Reads a path in files; the text itself if it has a line break or is written as {text: …}; or a template, {template: PATH}. */
export function readStartupConfig(context: GivenFiles, at: Field): StartupConfig | undefined {
  const { problems } = context;
  if (at.value.kind === "map") {
    const map = at.value;
    checkKeys(problems, map, at.path, configVocabulary);
    const [textAt, templateAt] = ["text", "template"].map((key) => fieldOf(map, key, at.path));
    if (textAt !== undefined && templateAt !== undefined) return invalid(problems, at, "text and template cannot be in one map");
    if (templateAt !== undefined) {
      const config = readConfigFile(context, templateAt);
      // The rendered text takes the place of a text of the lab, which has none either.
      const odd = config?.file === undefined ? undefined : /\0|\p{Surrogate}/u.exec(config.text)?.[0];
      if (odd !== undefined)
        return invalid(
          problems,
          templateAt,
          `${JSON.stringify(config?.file)} has ${odd === "\0" ? "a NUL character" : "half of a surrogate pair"}`,
        );
      return config?.file === undefined ? undefined : { text: config.text, template: { file: config.file, at: templateAt } };
    }
    // An empty text is a text.
    const entry = map.entries.get("text");
    if (entry === undefined) {
      problems.error("missing_key", at.place, at.path, "the map needs text or template", "or write a path in files instead of the map");
      return undefined;
    }
    const text = readText(problems, field(entry, at.path), { loose: true });
    return text === undefined ? undefined : bounded(problems, at, { text });
  }
  const config = readConfigFile(context, at);
  if (config?.file !== undefined && isTemplate(config.file, config.text)) {
    const message = `${JSON.stringify(config.file)} looks like a template, and is taken as it is`;
    problems.warn("unrendered_template", spot(at), at.path, message, `write startup-config: {template: ${config.file}}`);
  }
  return config;
}

/** Software in a node may render a template itself, as cloud-init does. */
function isTemplate(file: string, text: string): boolean {
  return (
    !text.startsWith("## template:") &&
    (/\.j(?:2|inja2?)$/.test(file) || /\{%-? *(?:for|if|set) |\{\{-? *[A-Za-z_]\w*[\w.[\]]* *(?:\|[^}]*)?-?\}\}/.test(text))
  );
}

function readConfigFile({ problems, files }: GivenFiles, at: Field): StartupConfig | undefined {
  const text = readText(problems, at, { loose: true });
  if (text === undefined) return undefined;
  if (/[\r\n]/.test(text)) return bounded(problems, at, { text });
  const result = normalFilePath(text);
  if ("problem" in result) {
    problems.error(
      "invalid_path",
      spot(at),
      at.path,
      `${JSON.stringify(text.slice(0, 120))}: ${result.problem}`,
      'a text of one line is written {text: "…"}',
    );
    return undefined;
  }
  const content = files.get(result.path);
  if (content !== undefined) return bounded(problems, at, { text: content, file: result.path });
  const names: string[] = [];
  for (const name of files.keys()) if (names.push(name) === 8) break;
  const list =
    names.length === 0
      ? "put it beside the lab's file; in a call to the API, into files"
      : `files given: ${names.join(", ")}${files.size > 8 ? ", …" : ""}`;
  const hint = didYouMean(result.path, files.keys(), problems.effort) ?? list;
  problems.error("file_not_found", spot(at), at.path, `no file ${JSON.stringify(result.path)}`, hint);
  return undefined;
}
