/** Words for the same kind of interface; the first is what they are compared by. */
const kinds: readonly (readonly string[])[] = [
  ["ethernet", "ether", "eth", "et", "e"],
  ["fastethernet", "fast", "fa", "f"],
  ["gigabitethernet", "gigabit", "gige", "gig", "gi", "ge", "g"],
  ["tengigabitethernet", "tengige", "ten", "te", "xe"],
  ["hundredgigabitethernet", "hundredgige", "hun", "hu"],
  ["serial", "ser", "se", "s"],
  ["management", "mgmteth", "mgmt", "mgnt", "mgt", "mg"],
];

/**
 * The interface that a name means: the one of that name, or else the only one that has it in other words, as GigabitEthernet0/0 is Gi0/0 and
 * ge-0/0/1 is "em3 / ge-0/0/1". Undefined where none has it, or several.
 */
export function findInterface<Named extends { readonly name: string }>(interfaces: readonly Named[], wanted: string): Named | undefined {
  const exact = interfaces.filter(({ name }) => name === wanted);
  if (exact.length > 0) return exact.length === 1 ? exact[0] : undefined;
  const key = keyOf(wanted);
  const found = interfaces.filter(({ name }) => aliasesOf(name).some((alias) => keyOf(alias) === key));
  return found.length === 1 ? found[0] : undefined;
}

/** "em2 / ge-0/0/0" and "eth0/mgmt" are two names each. */
function aliasesOf(name: string): readonly string[] {
  const parts = name.split(" / ");
  const [, one, other] = /^([a-z]+\d*)\/([a-z]+\d*)$/i.exec(name) ?? [];
  return [name, ...(parts.length > 1 ? parts : []), ...(one !== undefined && other !== undefined ? [one, other] : [])];
}

function keyOf(name: string): string {
  const plain = name.trim().toLowerCase();
  const [, word = "", rest = ""] = /^([a-z]+)[\s-]*(.*)$/.exec(plain) ?? [];
  const kind = kinds.find((words) => words.includes(word))?.[0];
  return kind === undefined ? plain : `${kind} ${rest}`;
}
