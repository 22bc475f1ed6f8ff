import { connect, LabwrightError, showFingerprint } from "../../client/index.ts";
import { askText, askYes, readPassword } from "../command/ask.ts";
import type { Command } from "../command/command.ts";
import { type Context, normalUrl } from "../command/context.ts";
import { readServiceFile } from "../command/local-service.ts";
import { UsageError } from "../command/usage-error.ts";
import { loginTimeoutMs } from "../parts/sign-in.ts";

export const login: Command = {
  name: "login",
  summary: "Sign in to a service and store the token",
  details:
    "The password is typed without echo, or comes from LABWRIGHT_PASSWORD or standard input; never from the command line. If no authority has signed\n" +
    "the service's certificate, login shows its fingerprint, and pins it after you confirm it.",
  flags: [
    { long: "user", short: "u", value: "NAME", summary: "User name; default: the last one for this service, or a question" },
    { long: "password-stdin", summary: "Read the password from standard input" },
  ],
  example: "labwright login --url https://lab.example.net:8443 --user ada",
  run: async (context, args) => {
    const { terminal } = context;
    const { url, pin: known, username: last } = await chooseService(context);
    const pin = await trust(context, url, known);
    const username = args.text("user") ?? process.env.LABWRIGHT_USER ?? last ?? (await askName(context, url));
    const password = await readPassword(terminal, `Password of ${username}: `, { fromStdin: args.has("password-stdin") });
    using client = connect({ url, pin });
    const data = await client.login({ username, password }, { timeoutMs: loginTimeoutMs });
    await context.credentials.keep({
      url,
      username: data.username ?? username,
      ...(pin === undefined ? {} : { pin }),
      ...(data.token === undefined ? {} : { token: data.token }),
    });
    if (context.json) terminal.print(JSON.stringify({ url, username: data.username ?? username }, null, 2));
    else terminal.note(`signed in to ${url} as ${data.username ?? username}`);
    return 0;
  },
};

async function chooseService(context: Context): Promise<{ readonly url: string; readonly pin?: string; readonly username?: string }> {
  const known = await context.service();
  if (known !== undefined) return known;
  const local = await readServiceFile();
  if (local !== undefined) return { url: local.url, pin: local.fingerprint };
  if (!context.terminal.interactive) throw new UsageError("login needs the address of the service", "--url https://HOST:8443");
  return { url: normalUrl(await askText(context.terminal, "Address of the service (https://HOST:8443): ")) };
}

/** Returns the pin to use from now on: the known one, the one that the user has just confirmed, or none if an authority has signed the certificate. */
async function trust(context: Context, url: string, pin: string | undefined): Promise<string | undefined> {
  using client = connect({ url, pin });
  try {
    await client.getHealth();
    return pin;
  } catch (error) {
    const fingerprint =
      error instanceof LabwrightError && error.status === 0 && error.code === "tls_untrusted" ? error.data?.fingerprint : undefined;
    if (typeof fingerprint !== "string" || !context.terminal.interactive) throw error;
    context.terminal.stderr.write(`the certificate of ${url} is not signed by a trusted authority. Its SHA-256 fingerprint:\n`);
    context.terminal.stderr.write(`  ${showFingerprint(fingerprint)}\nlabwright serve prints the fingerprint when it starts.\n`);
    if (!(await askYes(context.terminal, "Is it the same? Pin it"))) throw error;
    return fingerprint;
  }
}

async function askName(context: Context, url: string): Promise<string> {
  if (!context.terminal.interactive) throw new UsageError("login needs a user name", "--user NAME");
  return await askText(context.terminal, `User name at ${url}: `);
}
