import { connect, LabwrightError, showFingerprint } from "../../client/index.ts";
import type { Arguments } from "../command/arguments.ts";
import { askText, askYes, readPassword } from "../command/ask.ts";
import type { Command, ExitCode } from "../command/command.ts";
import { type Context, normalUrl } from "../command/context.ts";
import { readServiceFile } from "../command/local-service.ts";
import { UsageError } from "../command/usage-error.ts";
import { browserSignIn } from "../sign-in/browser-sign-in.ts";
import { loginTimeoutMs } from "../sign-in/sign-in.ts";

export const login: Command = {
  name: "login",
  summary: "Sign in to a service and store the token",
  details:
    "The password is typed without echo, or comes from LABWRIGHT_PASSWORD or standard input; never from the command line. If no authority has signed\n" +
    "the service's certificate, login shows its fingerprint, and pins it after you confirm it.\n" +
    "--oidc signs in at the service's OpenID Connect provider, in a browser of this machine: login prints the address to open.",
  flags: [
    { long: "user", short: "u", value: "NAME", summary: "User name; default: the last one for this service, or a question" },
    { long: "oidc", summary: "Sign in at the service's provider, in a browser of this machine, without a password" },
    { long: "password-stdin", summary: "Read the password from standard input" },
  ],
  example: "labwright login --url https://lab.example.net:8443 --user ada",
  run: async (context, args) => {
    const { terminal } = context;
    const { url, pin: known, username: last } = await chooseService(context);
    const pin = await trust(context, url, known);
    if (args.has("oidc")) return signInByBrowser(context, args, url, pin);
    const username = args.text("user") ?? process.env.LABWRIGHT_USER ?? last ?? (await askName(context, url));
    const password = await readPassword(terminal, `Password of ${username}: `, { fromStdin: args.has("password-stdin") });
    using client = connect({ url, pin });
    const data = await client.login({ username, password }, { timeoutMs: loginTimeoutMs });
    return keep(context, { url, username: data.username ?? username, pin, token: data.token });
  },
};

async function signInByBrowser(context: Context, args: Arguments, url: string, pin: string | undefined): Promise<ExitCode> {
  if (args.has("user") || args.has("password-stdin"))
    throw new UsageError("--user and --password-stdin are not for --oidc: the provider asks for them");
  using client = connect({ url, pin });
  if ((await client.getHealth()).oidc === undefined)
    throw new UsageError(
      `${url} has no provider to sign in at`,
      "sign in with a password: labwright login; or start the service with --oidc-issuer",
    );
  const show = (address: string, check: string) =>
    context.terminal.stderr.write(
      `Open this address in a browser of this machine:\n\n  ${address}\n\nContinue there if the page shows the code ${check}.\n`,
    );
  const { username = "", token } = await client.finishLogin(await browserSignIn(url, show));
  return keep(context, { url, username, pin, token });
}

/** Stores a login, and reports it. */
async function keep(
  { credentials, json, terminal }: Context,
  { url, username, pin, token }: { url: string; username: string; pin: string | undefined; token: string | undefined },
): Promise<ExitCode> {
  await credentials.keep({ url, username, ...(pin === undefined ? {} : { pin }), ...(token === undefined ? {} : { token }) });
  if (json) terminal.print(JSON.stringify({ url, username }, null, 2));
  else terminal.note(`signed in to ${url} as ${username}`);
  return 0;
}

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
