import type { Context } from "./context.ts";

/** Notes how old a list is that the service answered from memory, because its database does not answer. */
export async function noteAge(context: Context): Promise<void> {
  const { store } = await (await context.client()).getHealth();
  if (store?.reachable !== false) return;
  context.terminal.note(`the service's database does not answer: this is what it had ${store.age ?? 0} s ago`);
}
