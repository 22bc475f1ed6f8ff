import Type, { type Static } from "typebox";
import { integer, list, name, optionalInteger, text } from "./shapes.ts";

/** media_type: as getPicture answers it. width, height: pixels, as the host has them. nodes: IaC keys of the nodes whose consoles the picture's hotspots open. */
export const Picture = Type.Object({
  picture: text,
  name: text,
  media_type: text,
  size_bytes: integer,
  width: optionalInteger,
  height: optionalInteger,
  nodes: list(text),
});
export type Picture = Static<typeof Picture>;

export const PicturesData = Type.Object({ lab: text, pictures: list(Picture) });
export type PicturesData = Static<typeof PicturesData>;

export const PictureQuery = Type.Object({ lab: name });
export type PictureQuery = Static<typeof PictureQuery>;

/** text: without control characters. It may contain Markdown and HTML from its author: show it as plain text. */
export const TasksData = Type.Object({ lab: text, text });
export type TasksData = Static<typeof TasksData>;
