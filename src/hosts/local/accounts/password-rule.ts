/** Characters of a new password. Accounts that have a shorter one keep it. */
const fewestCharacters = 8;

/** Why a new password is refused, with what to do; undefined for one that is taken. */
export function passwordProblem(user: string, password: string): string | undefined {
  if (password.trim() === "") return `the password is empty or only spaces; choose one with at least ${fewestCharacters} characters`;
  const { length } = [...password.normalize("NFC")];
  if (length < fewestCharacters)
    return `the password has ${length} character${length === 1 ? "" : "s"}; choose one with at least ${fewestCharacters}`;
  if (password.trim().toLowerCase() === user.toLowerCase()) return "the password is the name of the user; choose another one";
  return undefined;
}
