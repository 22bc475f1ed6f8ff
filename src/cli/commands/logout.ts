import { LabwrightError } from "../../client/index.ts";
import type { Command } from "../command/command.ts";
import { UsageError } from "../command/usage-error.ts";

export const logout: Command = {
  name: "logout",
  summary: "Revoke the token and close open consoles",
  flags: [],
  example: "labwright logout",
  run: async (context) => {
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
