import { parallel } from "../../../base/parallel.ts";
import type { ChangeWarning, NativeIds } from "../../host.ts";
import type { EvePlace } from "../labs/world.ts";
import { lookAt } from "./busy-numbers.ts";
import { communityPort } from "./console.ts";

/**
 * Returns the running nodes of a lab that is deleted or unreadable, for which the host lists no nodes. On Community Edition a node counts as running
 * if its console port listens. Omits numbers that run or may run for another lab. On other editions the ports are not known.
 * @param nodes the lab's numbers by intent key
 */
export async function leftRunning(place: EvePlace, path: string, nodes: NativeIds["nodes"]): Promise<readonly ChangeWarning[]> {
  const { world, account, pod } = place;
  if (!world.edition.sharedNames) return [];
  const owners = world.owners.of(account);
  const numbers = new Set(Object.values(nodes).map(Number));
  const { found: others } = await world.others.namesakes(account, path, numbers, 0);
  const found = await parallel(Object.entries(nodes), 8, async ([node, id]): Promise<readonly ChangeWarning[]> => {
    const number = Number(id);
    const isOurs = owners.of(number) === path;
    if (!isOurs && (others.has(number) || owners.of(number) !== undefined)) return [];
    const state = await lookAt(world.address, communityPort(pod, number));
    if (state === "closed" || (state === "silent" && !isOurs)) return [];
    const runs = state === "open" ? "goes on running" : "may go on running";
    const message = `${node} ${runs} as number ${number} of the host: an administrator of the host ends it there`;
    return [{ code: "left_running", node, message }];
  });
  return found.flat();
}
