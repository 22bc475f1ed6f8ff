/** Maximum number of names that are shown. */
const maxShown = 3;

/** Returns who else is here, for people: "bob is here", "bob, cat and 2 more are here". Empty if nobody is. */
export function othersHere(users: readonly string[], me: string | undefined): string {
  const others = users.filter((user) => user !== me);
  const shown = others.slice(0, maxShown);
  const rest = others.length - shown.length;
  const names = [...shown, ...(rest > 0 ? [`${rest} more`] : [])];
  if (names.length === 0) return "";
  const [last] = names.slice(-1);
  return names.length === 1 ? `${last} is here` : `${names.slice(0, -1).join(", ")} and ${last} are here`;
}
