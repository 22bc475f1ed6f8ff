/** Minimum length of a new password, in characters. Accounts that have a shorter one keep it. */
const fewestCharacters = 8;

/** Returns why a new password is refused and what to do, `undefined` if it is accepted. */
export function passwordProblem(user: string, password: string): string | undefined {
  if (password.trim() === "") return `the password is empty or only spaces; choose one with at least ${fewestCharacters} characters`;
  const { length } = [...password.normalize("NFC")];
  if (length < fewestCharacters)
    return `the password has ${length} character${length === 1 ? "" : "s"}; choose one with at least ${fewestCharacters}`;
  if (password.trim().toLowerCase() === user.toLowerCase()) return "the password is the name of the user; choose another one";
  return undefined;
}
