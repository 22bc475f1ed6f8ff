import { type Command, type Flag, flagsOf } from "./command/command.ts";
import { completeCall, type NameKind } from "./complete-names.ts";

export type Shell = "bash" | "zsh" | "fish";
export const shells: readonly Shell[] = ["bash", "zsh", "fish"];

/** Returns the completion script of a shell for all commands. */
export function completionScript(shell: Shell, commands: readonly Command[]): string {
  if (shell === "fish") return fish(commands);
  return shell === "bash" ? bash(commands) : zsh(commands);
}

function names({ name, aliases = [] }: Command): readonly string[] {
  return [name, ...aliases];
}

function words(flag: Flag): readonly string[] {
  return [`--${flag.long}`, ...(flag.short === undefined ? [] : [`-${flag.short}`])];
}

function bash(commands: readonly Command[]): string {
  const flagCases = commands.map((command) => `    ${names(command).join("|")}) flags="${flagsOf(command).flatMap(words).join(" ")}" ;;`);
  const named = commands.filter(({ completes }) => completes !== undefined);
  const nameCases = named.map(
    (command) => `    ${names(command).join("|")}) [[ "$current" == -* ]] || { _labwright_names ${command.completes}; return; } ;;`,
  );
  const operandCases = commands
    .filter(({ choices }) => choices !== undefined)
    .map((command) => `    ${names(command).join("|")}) operands="${command.choices?.join(" ")}" ;;`);
  return `# Completion of labwright for bash: source <(labwright completion bash)
# Interfaces are r1:eth1: a colon is no break between words.
COMP_WORDBREAKS=\${COMP_WORDBREAKS//:}
# Names may contain spaces and other characters of the shell: they are compared and written as quoted words, and never expanded.
_labwright_names() {
  local name quoted
  while IFS= read -r name; do
    printf -v quoted %q "$name"
    if [[ "$quoted" == "$current"* ]]; then COMPREPLY+=("$quoted")
    elif [[ "$current" == [\\"\\']* && "$name" == "\${current:1}"* ]]; then COMPREPLY+=("$name")
    fi
  done < <("\${COMP_WORDS[0]}" ${completeCall} "$1" "\${COMP_WORDS[@]:2}" 2> /dev/null)
}
_labwright() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" command="\${COMP_WORDS[1]}" flags="" operands=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "${commands.flatMap(names).join(" ")}" -- "$current")
    return
  fi
  case "$command $previous" in
${valueCases(commands)
  .map(({ on, choices, names: kind }) => {
    const values = choices !== undefined ? `mapfile -t COMPREPLY < <(compgen -W "${choices.join(" ")}" -- "$current")` : undefined;
    return `    ${on}) ${values ?? (kind === undefined ? "compopt -o default" : `_labwright_names ${kind}`)}; return ;;`;
  })
  .join("\n")}
  esac
  case "$command" in
${flagCases.join("\n")}
  esac
  case "$command" in
${nameCases.join("\n")}
  esac
  case "$command" in
${operandCases.join("\n")}
    *) ;;
  esac
  if [[ "$current" == -* ]]; then mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$current")
  elif [ -n "$operands" ]; then mapfile -t COMPREPLY < <(compgen -W "$operands" -- "$current")
  else compopt -o default
  fi
}
complete -F _labwright labwright
`;
}

/** A flag whose value can be completed: from its choices, as a name in the lab, or as a file. */
interface ValueCase {
  /** The pattern of the command and the flag. */
  readonly on: string;
  readonly choices: readonly string[] | undefined;
  readonly names: NameKind | undefined;
}

/** Returns the flags with values of all commands. A flag with other values in one command, such as --format of inventory, has a case of its own, which comes first. */
function valueCases(commands: readonly Command[]): readonly ValueCase[] {
  const shared = new Map<string, ValueCase>();
  const own: ValueCase[] = [];
  const all = commands.flatMap(flagsOf);
  for (const command of commands) {
    for (const flag of flagsOf(command)) {
      if (flag.choices === undefined && flag.completes === undefined) continue;
      const value = { choices: flag.choices, names: nameKind(flag) };
      // -c takes a value for exec and none for other commands, but -o has one meaning.
      const hasOneMeaning = all.every(({ short, long }) => short !== flag.short || long === flag.long);
      const hasShort = flag.short !== undefined && (flag.completes !== undefined || hasOneMeaning);
      const forms = [`--${flag.long}`, ...(hasShort ? [`-${flag.short}`] : [])];
      for (const form of forms) {
        const first = shared.get(form);
        const isOther = first !== undefined && (String(first.choices) !== String(value.choices) || first.names !== value.names);
        if (first === undefined) shared.set(form, { on: `*" ${form}"`, ...value });
        if (isOther) own.push(...names(command).map((name) => ({ on: `"${name} ${form}"`, ...value })));
      }
    }
  }
  return [...own, ...shared.values()];
}

function nameKind({ completes }: Flag): NameKind | undefined {
  return completes === "lab" || completes === "node" ? completes : undefined;
}

function zsh(commands: readonly Command[]): string {
  const quote = (text: string) => text.replaceAll("'", "'\\''").replaceAll("[", "\\[").replaceAll("]", "\\]");
  const described = commands.flatMap((command) => names(command).map((name) => `    '${name}:${quote(command.summary)}'`));
  const cases = commands.map((command) => {
    const flags = flagsOf(command).map((flag) => {
      const value = flag.value === undefined ? "" : `:${flag.value}:${zshValue(flag)}`;
      const repeat = flag.multiple === true ? "*" : "";
      const [long, short] = words(flag);
      const name =
        short === undefined
          ? `'${repeat}${long}`
          : repeat === "*"
            ? `'${repeat}'{${short},${long}}'`
            : `'(${short} ${long})'{${short},${long}}'`;
      return `        ${name}[${quote(flag.summary)}]${value}'`;
    });
    const operands =
      command.completes !== undefined
        ? `'*:${command.completes}:${zshNames(command.completes)}'`
        : command.choices === undefined
          ? "'*:file:_files'"
          : `'1:${command.operands}:(${command.choices.join(" ")})'`;
    return `      ${names(command).join("|")})\n        _arguments \\\n${[...flags, `        ${operands}`].join(" \\\n")}\n        ;;`;
  });
  return `#compdef labwright
# Completion of labwright for zsh: source <(labwright completion zsh)
_labwright() {
  local -a commands
  commands=(
${described.join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
  else
    local command=$words[2]
    shift words
    (( CURRENT-- ))
    case $command in
${cases.join("\n")}
    esac
  fi
}
compdef _labwright labwright
`;
}

function zshValue(flag: Flag): string {
  if (flag.choices !== undefined) return `(${flag.choices.join(" ")})`;
  const kind = nameKind(flag);
  return kind !== undefined ? zshNames(kind) : flag.completes === undefined ? "" : "_files";
}

function zshNames(kind: NameKind): string {
  return `{compadd -- \${(f)"$(labwright ${completeCall} ${kind} $words 2> /dev/null)"}}`;
}

function fish(commands: readonly Command[]): string {
  const quote = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const fishNames = (kind: NameKind) => `(labwright ${completeCall} ${kind} (commandline -opc) 2> /dev/null)`;
  const fishValue = (flag: Flag): string => {
    if (flag.choices !== undefined) return ` -x -a ${quote(flag.choices.join(" "))}`;
    const kind = nameKind(flag);
    return kind !== undefined ? ` -x -a ${quote(fishNames(kind))}` : flag.completes === undefined ? " -x" : " -r -F";
  };
  const lines = ["# Completion of labwright for fish: labwright completion fish | source", "complete -c labwright -f"];
  for (const command of commands) {
    for (const name of names(command)) lines.push(`complete -c labwright -n __fish_use_subcommand -a ${name} -d ${quote(command.summary)}`);
    const when = `-n ${quote(`__fish_seen_subcommand_from ${names(command).join(" ")}`)}`;
    for (const flag of flagsOf(command)) {
      const short = flag.short === undefined ? "" : ` -s ${flag.short}`;
      const value = flag.value === undefined ? "" : fishValue(flag);
      lines.push(`complete -c labwright ${when} -l ${flag.long}${short}${value} -d ${quote(flag.summary)}`);
    }
    if (command.completes !== undefined) lines.push(`complete -c labwright ${when} -a ${quote(fishNames(command.completes))}`);
    if (command.choices !== undefined) lines.push(`complete -c labwright ${when} -a ${quote(command.choices.join(" "))}`);
  }
  return `${lines.join("\n")}\n`;
}
