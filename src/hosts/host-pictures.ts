/** A picture that is kept in a lab, such as a plan of its site. */
export interface LabPicture {
  /** Unique in the lab. */
  readonly id: string;
  readonly name: string;
  readonly width?: number;
  readonly height?: number;
  readonly bytes: number;
  /** The first 16 bytes, by which its kind is known: what the host says of it was written by whoever uploaded it. */
  readonly start: Uint8Array;
  /** Ids of the nodes whose consoles its hotspots open, in the order of the picture. */
  readonly nodes: readonly string[];
}

/** Pictures of labs, for reading. */
export interface HostPictures {
  /** Sorted by id. Throws lab_not_found. */
  list(lab: string): Promise<readonly LabPicture[]>;
  /** The picture with its bytes as they were uploaded. Throws lab_not_found and picture_not_found. */
  read(lab: string, id: string): Promise<{ readonly picture: LabPicture; readonly bytes: Uint8Array }>;
}
