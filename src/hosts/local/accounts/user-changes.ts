import { Failure } from "../../../contract/errors.ts";
import type { HostUserChanges } from "../../host.ts";
import { passwordProblem } from "./password-rule.ts";
import type { Users } from "./users.ts";

/** Changes of the embedded host's accounts by the service, for its admins. */
export function userChanges(users: Users): HostUserChanges {
  const known = async (name: string) => {
    const user = await users.find(name);
    if (user === null) throw new Failure("bad_request", `there is no user ${JSON.stringify(name)}`);
    return user;
  };
  const checked = (name: string, password: string) => {
    const problem = passwordProblem(name, password);
    if (problem !== undefined) throw new Failure("bad_request", problem);
    return password;
  };
  return {
    add: async (name, password, role) => {
      if ((await users.find(name)) !== null) throw new Failure("bad_request", `user ${JSON.stringify(name)} exists already`);
      await users.put(name, checked(name, password), role);
    },
    setPassword: async (name, password) => users.put(name, checked(name, password), (await known(name)).role),
    setRole: async (name, role) => users.setRole((await known(name)).name, role),
    remove: async (name) => users.remove((await known(name)).name),
  };
}
