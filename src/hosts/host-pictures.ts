/** A picture in a lab, such as a site plan. */
export interface LabPicture {
  /** Unique in the lab. */
  readonly id: string;
  readonly name: string;
  readonly width?: number;
  readonly height?: number;
  readonly bytes: number;
  /** The first 16 bytes, which identify its format: the type that the host reports was set by the uploader. */
  readonly start: Uint8Array;
  /** Ids of the nodes whose consoles its hotspots open, in the order of the picture. */
  readonly nodes: readonly string[];
}

/** Pictures of labs, read-only. */
export interface HostPictures {
  /** Sorted by id. Throws lab_not_found. */
  list(lab: string): Promise<readonly LabPicture[]>;
  /** Returns the picture with its bytes as uploaded. Throws lab_not_found and picture_not_found. */
  read(lab: string, id: string): Promise<{ readonly picture: LabPicture; readonly bytes: Uint8Array }>;
}
