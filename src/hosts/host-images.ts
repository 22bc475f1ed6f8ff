import type { Readable } from "node:stream";

/** container: for nodes of containers, in layers. machine: the disks of a virtual machine. */
export type ImageKind = "container" | "machine";

/** An image that a machine has for the other machines of its fleet. */
export interface SharedImage {
  readonly kind: ImageKind;
  readonly name: string;
  /** SHA-256, hex, of what the image is made of; "" for a virtual machine, whose files are read only when somebody fetches it. */
  readonly digest: string;
  /** The processor that it is for, as Node names it. */
  readonly arch: string;
  /** Unpacked. */
  readonly bytes: number;
  /** The users who may use it, besides admins. Absent: all. */
  readonly users?: readonly string[];
  /** The template of a virtual machine's image. */
  readonly template?: string;
}

/** A user, as far as images are concerned. */
export interface ImageUser {
  readonly name: string;
  readonly role: "admin" | "user" | "viewer";
}

/** The parts of an image, in the order in which they are put together. */
export interface ImageManifest extends Pick<SharedImage, "kind" | "name" | "digest" | "template"> {
  readonly description: string;
  readonly parts: readonly ImagePart[];
  /** The process of a container, and where it was pulled from: data of the driver. */
  readonly config: unknown;
}

/** A layer of a container, the lowest first, or a file of a virtual machine. */
export interface ImagePart {
  /** The digest of the layer as its registry has it, or the name of the file. */
  readonly name: string;
  /** Unpacked. */
  readonly bytes: number;
}

/** All bytes of a part, as they are sent: a part that never changed has the same bytes each time. */
export interface PartDigest {
  /** Hex. */
  readonly sha256: string;
  readonly bytes: number;
}

/** The images of this machine, for other machines of its fleet, and theirs for this one. */
export interface HostImages {
  /** The images that other machines may fetch, sorted; the most are 200. */
  shared(): Promise<readonly SharedImage[]>;
  /** Throws bad_request for an image that is not here, and operation_not_allowed for a user who may not use it. */
  manifest(user: ImageUser, kind: ImageKind, name: string): Promise<ImageManifest>;
  /** Throws as manifest. */
  part(user: ImageUser, kind: ImageKind, name: string, part: number): Promise<PartDigest>;
  /** Returns the bytes of a part from an offset on. Throws as manifest. */
  read(user: ImageUser, kind: ImageKind, name: string, part: number, offset: number): Promise<Readable>;
  /** From now on, images that are missing here are fetched from these machines. */
  usePeers(peers: ImagePeers): void;
}

/** An image of another machine. */
export interface PeerImage extends SharedImage {
  readonly machine: { readonly number: number; readonly name: string };
}

/** The images of the other machines. The calls throw machine_unreachable, and the failures of HostImages. */
export interface ImagePeers {
  /** Images of machines that answer, from memory. */
  list(): readonly PeerImage[];
  manifest(image: PeerImage, user: ImageUser, signal: AbortSignal): Promise<ImageManifest>;
  part(image: PeerImage, user: ImageUser, part: number, signal: AbortSignal): Promise<PartDigest>;
  read(image: PeerImage, user: ImageUser, part: number, offset: number, signal: AbortSignal): Promise<Readable>;
}

/** Whether the user may use the image of another machine. */
export function mayFetch({ users }: Pick<SharedImage, "users">, { name, role }: ImageUser): boolean {
  return users === undefined || role === "admin" || users.includes(name);
}
