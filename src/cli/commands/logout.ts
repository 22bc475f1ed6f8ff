import { LabwrightError } from "../../client/index.ts";
import type { Command } from "../command/command.ts";
import { env } from "../command/environment.ts";
import { UsageError } from "../command/usage-error.ts";

export const logout: Command = {
  name: "logout",
  summary: "Revoke the token and close open consoles",
  flags: [],
  example: "labwright logout",
  run: async (context) => {
    if (env("LABWRIGHT_TOKEN") !== undefined)
      throw new UsageError(
        "LABWRIGHT_TOKEN is set: logout is for the login that labwright login has stored",
        "unset LABWRIGHT_TOKEN first; labwright token revoke ID ends an API token",
      );
    const service = await context.service();
    if (service?.token === undefined) throw new UsageError("you are not signed in");
    const client = await context.client();
    try {
      await client.logout();
    } catch (error) {
      // An expired token needs no revocation.
      if (!(error instanceof LabwrightError) || error.status !== 401) throw error;
    }
    await context.credentials.forget(service.url);
    if (context.json) context.terminal.print(JSON.stringify({ url: service.url }, null, 2));
    else context.terminal.note(`signed out of ${service.url}`);
    return 0;
  },
};
