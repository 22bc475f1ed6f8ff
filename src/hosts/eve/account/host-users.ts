import type { HostUserRow } from "../../host.ts";
import { listOf, numberOf, recordOf, textOf } from "../api/answer.ts";
import type { EveAccount } from "./account.ts";

/** Community makes an admin of every user at each request, so every user may list the others. */
export async function listUsers(account: EveAccount): Promise<readonly HostUserRow[]> {
  const data = await account.get("/api/users/", "list the host's users");
  return listOf(data, "list the host's users").map(([key, value]) => {
    const row = recordOf(value);
    const [name, email, lab, pod] = [textOf(row.name), textOf(row.email), textOf(row.lab), numberOf(row.pod)];
    return {
      user: textOf(row.username) ?? key,
      role: textOf(row.role) ?? "",
      ...(name !== undefined && name !== "" && { name }),
      ...(email !== undefined && email !== "" && { email }),
      // The host reports -1 for a user without a pod.
      ...(pod !== undefined && pod >= 0 && { pod }),
      ...(lab !== undefined && lab !== "" && { lab: lab.replace(/\.unl$/, "") }),
    };
  });
}
