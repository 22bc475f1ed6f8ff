/** Facts about the consoles of a template's nodes, for consoles whose prompt cannot be detected. */
export interface ConsoleTraits {
  /** Regular expression that the prompt's line matches. */
  readonly prompt?: string;
  /** The account to log in with if the console asks for one. */
  readonly login?: { readonly username: string; readonly password?: string };
  /** A pager of the template's own: the regular expression of its prompt line, and the key for the next page. */
  readonly pager?: { readonly pattern: string; readonly key: string };
}
