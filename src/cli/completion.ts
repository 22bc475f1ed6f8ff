import { type Command, type Flag, flagsOf } from "./command.ts";

export type Shell = "bash" | "zsh" | "fish";
export const shells: readonly Shell[] = ["bash", "zsh", "fish"];

/** A completion script for the whole command table. */
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
  const operandCases = commands
    .filter(({ choices }) => choices !== undefined)
    .map((command) => `    ${names(command).join("|")}) operands="${command.choices?.join(" ")}" ;;`);
  return `# Completion of labwright for bash: source <(labwright completion bash)
_labwright() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" command="\${COMP_WORDS[1]}" flags="" operands=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "${commands.flatMap(names).join(" ")}" -- "$current")
    return
  fi
  case "$previous" in
${valueCases(commands)
  .map(
    ({ flag, choices }) =>
      `    ${flag}) ${choices === undefined ? "compopt -o default" : `mapfile -t COMPREPLY < <(compgen -W "${choices.join(" ")}" -- "$current")`}; return ;;`,
  )
  .join("\n")}
  esac
  case "$command" in
${flagCases.join("\n")}
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

/** Flags whose value can be completed: by their choices, or as a file. */
function valueCases(commands: readonly Command[]): readonly { readonly flag: string; readonly choices: readonly string[] | undefined }[] {
  const cases = new Map<string, readonly string[] | undefined>();
  for (const flag of commands.flatMap(flagsOf)) {
    if (flag.choices === undefined && flag.completes === undefined) continue;
    // -c is a command for exec and on or off elsewhere; only long forms have one meaning each.
    cases.set(`--${flag.long}`, flag.choices);
    if (flag.completes !== undefined && flag.short !== undefined) cases.set(`-${flag.short}`, undefined);
  }
  return [...cases].map(([flag, choices]) => ({ flag, choices }));
}

function zsh(commands: readonly Command[]): string {
  const quote = (text: string) => text.replaceAll("'", "'\\''").replaceAll("[", "\\[").replaceAll("]", "\\]");
  const described = commands.flatMap((command) => names(command).map((name) => `    '${name}:${quote(command.summary)}'`));
  const cases = commands.map((command) => {
    const flags = flagsOf(command).map((flag) => {
      const value =
        flag.value === undefined
          ? ""
          : `:${flag.value}:${flag.choices === undefined ? (flag.completes === undefined ? "" : "_files") : `(${flag.choices.join(" ")})`}`;
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
    const operands = command.choices === undefined ? "'*:file:_files'" : `'1:${command.operands}:(${command.choices.join(" ")})'`;
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

function fish(commands: readonly Command[]): string {
  const quote = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const lines = ["# Completion of labwright for fish: labwright completion fish | source", "complete -c labwright -f"];
  for (const command of commands) {
    for (const name of names(command)) lines.push(`complete -c labwright -n __fish_use_subcommand -a ${name} -d ${quote(command.summary)}`);
    const when = `-n ${quote(`__fish_seen_subcommand_from ${names(command).join(" ")}`)}`;
    for (const flag of flagsOf(command)) {
      const short = flag.short === undefined ? "" : ` -s ${flag.short}`;
      const value =
        flag.value === undefined
          ? ""
          : flag.choices === undefined
            ? flag.completes === undefined
              ? " -x"
              : " -r -F"
            : ` -x -a ${quote(flag.choices.join(" "))}`;
      lines.push(`complete -c labwright ${when} -l ${flag.long}${short}${value} -d ${quote(flag.summary)}`);
    }
    if (command.choices !== undefined) lines.push(`complete -c labwright ${when} -a ${quote(command.choices.join(" "))}`);
  }
  return `${lines.join("\n")}\n`;
}
