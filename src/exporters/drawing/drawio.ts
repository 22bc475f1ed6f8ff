import type { Lab } from "../../intent/lab/lab.ts";
import { opacityOf } from "../../intent/shapes/color.ts";
import { dashesOf, type LabShape, shapeDefaults } from "../../intent/shapes/shape.ts";
import { xmlText } from "../shared/xml-text.ts";
import { drawingOf, type Shape } from "./drawing.ts";

const styles: Readonly<Record<Shape, string>> = {
  router: "shape=mxgraph.cisco.routers.router;fillColor=#036897;strokeColor=#ffffff;strokeWidth=2",
  switch: "shape=mxgraph.cisco.switches.workgroup_switch;fillColor=#036897;strokeColor=#ffffff;strokeWidth=2",
  host: "shape=mxgraph.cisco.computers_and_peripherals.pc;fillColor=#036897;strokeColor=#ffffff;strokeWidth=2",
  bridge: "shape=mxgraph.cisco.hubs_and_gateways.generic_gateway;fillColor=#036897;strokeColor=#ffffff;strokeWidth=2",
  cloud: "ellipse;shape=cloud;fillColor=#dae8fc;strokeColor=#6c8ebf",
};
const size = 48;

/** Returns a lab as a diagram of draw.io, with the positions of the pages. */
export function drawioText(lab: Lab): string {
  const { title, members, links, texts, shapes } = drawingOf(lab);
  const numbers = new Map(members.map(({ key }, index) => [key, `n${index}`]));
  const cells = [
    ...shapes.map(shapeCell),
    ...members.map(({ key, label, shape, place }) => {
      const style = `${styles[shape]};verticalLabelPosition=bottom;verticalAlign=top;labelBackgroundColor=default;html=0`;
      const box = geometry(place.x - size / 2, place.y - size / 2, size, size);
      return `<mxCell id="${numbers.get(key)}" value="${xmlText(label)}" style="${style}" vertex="1" parent="1">${box}</mxCell>`;
    }),
    ...links.flatMap((link, index) => {
      const style = `endArrow=none;html=0${link.isSuspended ? ";dashed=1" : ""}`;
      const ends = `source="${numbers.get(link.from)}" target="${numbers.get(link.to)}"`;
      return [
        `<mxCell id="l${index}" value="${xmlText(link.quality)}" style="${style}" edge="1" parent="1" ${ends}><mxGeometry relative="1" as="geometry"/></mxCell>`,
        ...[[link.fromInterface, -0.6] as const, [link.toInterface, 0.6] as const].flatMap(([name, at], end) =>
          name === "" ? [] : [endLabel(`l${index}e${end}`, `l${index}`, name, at)],
        ),
      ];
    }),
    ...texts.map(({ text, x, y }, index) => {
      const style = "text;html=0;align=left;verticalAlign=top;strokeColor=none;fillColor=none";
      return `<mxCell id="t${index}" value="${xmlText(text)}" style="${style}" vertex="1" parent="1">${geometry(x, y, 120, 20)}</mxCell>`;
    }),
  ];
  const body = cells.map((cell) => `        ${cell}`).join("\n");
  return `<mxfile host="Labwright">
  <diagram name="${xmlText(title)}">
    <mxGraphModel grid="1" gridSize="10" page="0">
      <root>
        <mxCell id="0"/>
        <mxCell id="1" parent="0"/>
${body}
      </root>
    </mxGraphModel>
  </diagram>
</mxfile>
`;
}

const arrows = { none: "none", arrow: "block", circle: "oval", square: "box" } as const;

function shapeCell(shape: LabShape, index: number): string {
  const border = opacityOf(shape.color ?? shapeDefaults.color);
  const fill = shape.type === "line" || shape.fill === undefined ? undefined : opacityOf(shape.fill);
  const thickness = shape.thickness ?? shapeDefaults.thickness;
  const dashes = dashesOf(shape);
  const style = [
    ...(shape.type === "line" ? [`startArrow=${arrows[shape.start ?? "none"]}`, `endArrow=${arrows[shape.end ?? "none"]}`] : []),
    ...(shape.type === "ellipse" ? ["ellipse"] : []),
    ...(shape.type === "line" || shape.rotation === undefined ? [] : [`rotation=${shape.rotation}`]),
    "html=0",
    thickness === 0
      ? "strokeColor=none"
      : `strokeColor=${border.color};strokeOpacity=${Math.round(border.opacity * 100)};strokeWidth=${thickness}`,
    fill === undefined ? "fillColor=none" : `fillColor=${fill.color};fillOpacity=${Math.round(fill.opacity * 100)}`,
    ...(dashes === undefined ? [] : [`dashed=1;fixDash=1;dashPattern=${dashes.join(" ")}`]),
  ].join(";");
  const id = `s${index}`;
  if (shape.type !== "line") {
    const { x, y, width, height } = shape;
    return `<mxCell id="${id}" value="" style="${style}" vertex="1" parent="1">${geometry(x, y, width, height)}</mxCell>`;
  }
  const point = (x: number, y: number, as: string) => `<mxPoint x="${x}" y="${y}" as="${as}"/>`;
  const ends = `${point(shape.x, shape.y, "sourcePoint")}${point(shape.x2, shape.y2, "targetPoint")}`;
  return `<mxCell id="${id}" value="" style="${style}" edge="1" parent="1"><mxGeometry relative="1" as="geometry">${ends}</mxGeometry></mxCell>`;
}

function endLabel(id: string, parent: string, name: string, at: number): string {
  const style = "edgeLabel;html=0;align=center;verticalAlign=middle;fontSize=9";
  return `<mxCell id="${id}" value="${xmlText(name)}" style="${style}" vertex="1" connectable="0" parent="${parent}"><mxGeometry x="${at}" relative="1" as="geometry"/></mxCell>`;
}

function geometry(x: number, y: number, width: number, height: number): string {
  return `<mxGeometry x="${x}" y="${y}" width="${width}" height="${height}" as="geometry"/>`;
}
