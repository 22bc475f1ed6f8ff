import type { ImageManifest, ImagePeers, ImageUser, PartDigest, PeerImage } from "../../hosts/host-images.ts";
import type { FleetCalls } from "../common/fleet-calls.ts";
import { type MachineStore, silentAfterMs } from "../store/machines.ts";

/** The images of the other machines of the fleet. */
export function imagePeers(machines: MachineStore, fleet: FleetCalls): ImagePeers {
  const ask = (image: PeerImage, name: string, args: object, signal: AbortSignal) =>
    fleet.call(image.machine.number, { name, args: { kind: image.kind, image: image.name, ...args } }, signal);
  const data = async (image: PeerImage, name: string, args: object, signal: AbortSignal) => {
    const { facts, body } = await ask(image, name, args, signal);
    body.destroy();
    return facts;
  };
  return {
    list: () =>
      machines
        .list()
        .filter(({ number, silentMs }) => number !== machines.own && silentMs <= silentAfterMs)
        .flatMap(({ number, name, facts }) => (facts.images ?? []).map((image) => ({ ...image, machine: { number, name } }))),
    manifest: async (image, user: ImageUser, signal) => (await data(image, "imageManifest", { user }, signal)) as ImageManifest,
    part: async (image, user, part, signal) => (await data(image, "imagePart", { user, part }, signal)) as PartDigest,
    read: async (image, user, part, offset, signal) => (await ask(image, "readImage", { user, part, offset }, signal)).body,
  };
}
