/**
 * Finds the interface here that a configuration means: the same name, an abbreviation of it (Gi0/1), or for names such as eth1 of containerlab the number that the vendor's
 * software gives it.
 */
export function interfaceFinder(names: ReadonlyMap<string, string>): (name: string) => string | undefined {
  const known = [...names].map(([original, here]) => ({ ...parts(original), here }));
  return (name) => {
    if (/^lo(opback)?\s?-?\d+$/i.test(name)) return "lo";
    const wanted = parts(name);
    const same = known.find(({ letters, numbers }) => numbers === wanted.numbers && related(letters, wanted.letters));
    if (same !== undefined) return same.here;
    const [only] = /^\d+$/.test(wanted.numbers) ? [Number(wanted.numbers) - 1] : [Number(/(\d+)$/.exec(wanted.numbers)?.[1] ?? Number.NaN)];
    return wanted.letters.startsWith("gi") || wanted.numbers.includes("/")
      ? known.find(({ letters, numbers }) => letters === "eth" && Number(numbers) === only)?.here
      : undefined;
  };
}

function parts(name: string): { readonly letters: string; readonly numbers: string } {
  const [, letters = "", numbers = ""] = /^\s*([A-Za-z-]*?)-?\s*(\d[\d/.:-]*)?\s*$/.exec(name) ?? [];
  return { letters: letters.toLowerCase(), numbers };
}

function related(a: string, b: string): boolean {
  return a !== "" && b !== "" && (a.startsWith(b) || b.startsWith(a));
}
