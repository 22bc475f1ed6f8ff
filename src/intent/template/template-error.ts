/** A mistake in a template, with its offset in the text. */
export class TemplateError extends Error {
  readonly at: number;
  readonly hint: string | undefined;

  constructor(message: string, at: number, hint?: string) {
    super(message);
    this.at = at;
    this.hint = hint;
  }
}
