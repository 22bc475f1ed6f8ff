/** What a template knows of its nodes' consoles, where learning it is not enough. */
export interface ConsoleTraits {
  /** Regular expression that the prompt's line matches. */
  readonly prompt?: string;
  /** Who logs in where the console asks for it. */
  readonly login?: { readonly username: string; readonly password?: string };
  /** A pager of its own: the regular expression of the line where it waits, and the key that goes on. */
  readonly pager?: { readonly pattern: string; readonly key: string };
}
