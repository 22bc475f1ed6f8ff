import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Graph } from "../topology/graph/graph.ts";
import type { Place } from "../topology/layout/layout.ts";
import { type LinkCurve, linkCurve, placeOn } from "../topology/graph/link-shape.ts";
import type { OverlayProps } from "../topology/topology.tsx";
import type { View } from "../topology/stage/view.ts";
import { linkAt } from "./link-at.ts";
import { rateWords } from "./feed/rate-text.ts";
import { travelMs } from "./feed/traffic-dots.ts";
import type { TrafficPicture } from "./feed/live-traffic.ts";

interface TrafficOverlayProps extends OverlayProps {
  readonly picture: TrafficPicture;
}

interface TipPlace extends Place {
  /** It extends to the left. */
  readonly left: boolean;
}

interface Tip {
  /** Key of the link. */
  readonly link: string;
  readonly at: TipPlace;
}

/** Px of the screen. */
const dotRadius = 4.5;
const hoverWithin = 10;
/** Around a node's middle, px of the picture: there packets are in the node. */
const nodeRadius = 26;

/** Packets as dots that move along the lines of links, over the picture; where movement is not wanted, rates beside the links. Rates of the link under the pointer. */
export function TrafficOverlay({ graph, watchView, picture }: TrafficOverlayProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useRef<View>({ x: 0, y: 0, scale: 1 });
  const curves = useMemo(() => curvesOf(graph), [graph]);
  const endpoints = useMemo(() => new Map(graph.links.map(({ key, endpoints }) => [key, endpoints[0]!])), [graph]);
  const [pointed, setPointed] = useState<Tip>();
  const [focused, setFocused] = useState<Tip>();
  const tip = pointed ?? focused;
  const [, setTurns] = useState(0);
  const now = useRef({ curves, endpoints });
  now.current = { curves, endpoints };

  useLayoutEffect(() => {
    const element = canvas.current!;
    const context = element.getContext("2d")!;
    const still = matchMedia("(prefers-reduced-motion: reduce)");
    let frame = 0;
    const draw = (time: number) => {
      frame = 0;
      const { width, height } = element;
      const ratio = devicePixelRatio;
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.clearRect(0, 0, width, height);
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      const style = getComputedStyle(element);
      const [ink, paper] = [style.color, style.getPropertyValue("--paper")];
      const { curves, endpoints } = now.current;
      if (still.matches) {
        drawRates(context, { picture, curves, view: view.current, ink, paper });
        return;
      }
      const dots = picture.dots.at(time);
      for (const { link, from, filter, begun } of dots) {
        const curve = curves.get(link);
        const color = picture.colors.get(filter);
        if (curve === undefined || color === undefined) continue;
        const part = Math.max(0, Math.min(1, (time - begun) / travelMs));
        const { x, y } = onScreen(view.current, between(curve, endpoints.get(link) === from ? part : 1 - part));
        context.beginPath();
        context.arc(x, y, dotRadius, 0, 2 * Math.PI);
        context.fillStyle = color;
        context.fill();
        context.lineWidth = 1.5;
        context.strokeStyle = paper;
        context.stroke();
      }
      // Without a packet on its way nothing is drawn, and nothing costs.
      if (dots.length > 0) again();
    };
    const again = () => {
      if (frame === 0) frame = requestAnimationFrame(draw);
    };
    const sized = new ResizeObserver(() => {
      element.width = Math.round(element.clientWidth * devicePixelRatio);
      element.height = Math.round(element.clientHeight * devicePixelRatio);
      again();
    });
    sized.observe(element);
    const forgetView = watchView((next) => {
      view.current = next;
      again();
    });
    const forgetPicture = picture.listen((what) => {
      if (what === "rates") setTurns((count) => count + 1);
      again();
    });
    still.addEventListener("change", again);
    return () => {
      cancelAnimationFrame(frame);
      sized.disconnect();
      forgetView();
      forgetPicture();
      still.removeEventListener("change", again);
    };
  }, [picture]);

  useLayoutEffect(() => {
    const stage = canvas.current!.parentElement!;
    const over = new AbortController();
    const { signal } = over;
    const moved = ({ clientX, clientY, buttons }: PointerEvent) => {
      const { left, top } = stage.getBoundingClientRect();
      const at = { x: clientX - left, y: clientY - top };
      const { x, y, scale } = view.current;
      const inPicture = { x: (at.x - x) / scale, y: (at.y - y) / scale };
      const link = buttons === 0 ? linkAt(now.current.curves, inPicture, hoverWithin / scale) : undefined;
      const place = { ...at, left: at.x > stage.clientWidth / 2 };
      setPointed((before) => (link === undefined ? undefined : before?.link === link ? before : { link, at: place }));
    };
    const entered = ({ target }: FocusEvent) => {
      const id = (target as Element).closest("[data-link]")?.getAttribute("data-link");
      const link = graph.links.find((one) => one.id === id)?.key;
      const curve = link === undefined ? undefined : now.current.curves.get(link);
      if (link === undefined || curve === undefined) return setFocused(undefined);
      const at = onScreen(view.current, placeOn(curve, 0.5));
      setFocused({ link, at: { ...at, left: at.x > stage.clientWidth / 2 } });
    };
    stage.addEventListener("pointermove", moved, { signal });
    stage.addEventListener("pointerleave", () => setPointed(undefined), { signal });
    stage.addEventListener("focusin", entered, { signal });
    stage.addEventListener("focusout", () => setFocused(undefined), { signal });
    return () => over.abort();
  }, [graph]);

  return (
    <>
      <canvas ref={canvas} class="traffic-canvas" />
      {tip !== undefined && <Rates link={tip.link} at={tip.at} picture={picture} />}
    </>
  );
}

/** What passes one link. */
function Rates({ link, at, picture }: { readonly link: string; readonly at: TipPlace; readonly picture: TrafficPicture }) {
  const rates = picture.rates.filter((one) => one.link === link);
  return (
    <div class={`traffic-tip${at.left ? " leftwards" : ""}`} role="tooltip" style={{ left: `${at.x}px`, top: `${at.y}px` }}>
      {rates.length === 0 ? (
        <p>{link}: nothing passes</p>
      ) : (
        <ul>
          {rates.map((rate) => (
            <li key={`${rate.from} ${rate.filter}`}>
              <span class="traffic-swatch" style={{ background: picture.colors.get(rate.filter) }} aria-hidden="true" />
              <b>
                {rate.from} → {rate.to}
              </b>{" "}
              {rate.filter ?? "other packets"}: {rateWords(rate, picture.estimated)}
              <br />
              <small>{rate.last}</small>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function curvesOf({ nodes, links }: Graph): ReadonlyMap<string, LinkCurve> {
  const places = new Map(nodes.map(({ id, at }) => [id, at]));
  return new Map(links.map((link) => [link.key, linkCurve(link, places.get(link.from)!, places.get(link.to)!)]));
}

/** Of the way between the edges of the two nodes. */
function between(curve: LinkCurve, part: number): Place {
  const inset = Math.min(0.4, nodeRadius / (Math.hypot(curve.b.x - curve.a.x, curve.b.y - curve.a.y) || 1));
  return placeOn(curve, inset + part * (1 - 2 * inset));
}

function onScreen({ x, y, scale }: View, at: Place): Place {
  return { x: x + at.x * scale, y: y + at.y * scale };
}

interface RatesDrawing {
  readonly picture: TrafficPicture;
  readonly curves: ReadonlyMap<string, LinkCurve>;
  readonly view: View;
  readonly ink: string;
  readonly paper: string;
}

/** Instead of movement: how many packets a second, in the middle of each link, one below the other by filter. */
function drawRates(context: CanvasRenderingContext2D, { picture, curves, view, ink, paper }: RatesDrawing): void {
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  const rows = new Map<string, number>();
  for (const [filter, color] of picture.colors) {
    const sums = new Map<string, number>();
    for (const rate of picture.rates) {
      if (rate.filter === filter) sums.set(rate.link, (sums.get(rate.link) ?? 0) + rate.packets);
    }
    for (const [link, packets] of sums) {
      const curve = curves.get(link);
      if (curve === undefined) continue;
      const row = rows.get(link) ?? 0;
      rows.set(link, row + 1);
      const { x, y } = onScreen(view, placeOn(curve, 0.5));
      const text = `${picture.estimated ? "≈ " : ""}${packets < 10 ? packets.toFixed(1) : packets.toFixed(0)}/s`;
      const width = context.measureText(text).width + 20;
      const top = y - 8 + row * 17;
      context.fillStyle = paper;
      context.strokeStyle = color;
      context.lineWidth = 1.5;
      context.beginPath();
      context.roundRect(x - width / 2, top, width, 16, 8);
      context.fill();
      context.stroke();
      context.fillStyle = color;
      context.beginPath();
      context.arc(x - width / 2 + 9, top + 8, 3.5, 0, 2 * Math.PI);
      context.fill();
      context.fillStyle = ink;
      context.fillText(text, x - width / 2 + 15, top + 8.5);
    }
  }
}
