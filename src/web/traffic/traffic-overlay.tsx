import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Graph } from "../topology/graph/graph.ts";
import { type LinkCurve, linkCurve } from "../topology/graph/link-shape.ts";
import type { View } from "../topology/stage/view.ts";
import type { OverlayProps } from "../topology/topology.tsx";
import { drawDots, drawHeat, drawLinkRates, drawRates } from "./draw-traffic.ts";
import type { LiveTraffic } from "./feed/live-traffic.ts";
import { rateText } from "./feed/rate-text.ts";
import { type TrafficTip, useTrafficTip } from "./use-traffic-tip.ts";

interface TrafficOverlayProps extends OverlayProps {
  readonly traffic: LiveTraffic;
}

/**
 * Draws packets as dots that move along their links, over the drawing of the lab. If the user prefers reduced motion, draws rates beside the links
 * instead. Shows the rates of the link under the pointer.
 */
export function TrafficOverlay({ graph, watchView, traffic }: TrafficOverlayProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useRef<View>({ x: 0, y: 0, scale: 1 });
  const latestCurves = useMemo(() => curvesOf(graph), [graph]);
  const latestStartEnds = useMemo(() => new Map(graph.links.map(({ key, endpoints }) => [key, endpoints[0]!])), [graph]);
  const curves = useRef(latestCurves);
  curves.current = latestCurves;
  const startEnds = useRef(latestStartEnds);
  startEnds.current = latestStartEnds;
  const [, setRateUpdates] = useState(0);
  const tip = useTrafficTip({ canvas, graph, view, curves });

  useLayoutEffect(() => {
    const element = canvas.current!;
    const context = element.getContext("2d")!;
    const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
    let frame = 0;
    const draw = (time: number) => {
      frame = 0;
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.clearRect(0, 0, element.width, element.height);
      context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
      const style = getComputedStyle(element);
      const scene = {
        traffic,
        curves: curves.current,
        startEnds: startEnds.current,
        view: view.current,
        textColor: style.color,
        background: style.getPropertyValue("--paper"),
      };
      if (traffic.isHeat) {
        drawHeat(context, scene);
        return drawLinkRates(context, scene);
      }
      if (reducedMotion.matches) return drawRates(context, scene);
      const dots = traffic.dots.at(time);
      drawDots(context, scene, dots, time);
      drawLinkRates(context, scene);
      // Without packets on their way no frame is requested: an idle lab costs nothing.
      if (dots.length > 0) requestDraw();
    };
    const requestDraw = () => {
      if (frame === 0) frame = requestAnimationFrame(draw);
    };
    const resized = new ResizeObserver(() => {
      element.width = Math.round(element.clientWidth * devicePixelRatio);
      element.height = Math.round(element.clientHeight * devicePixelRatio);
      requestDraw();
    });
    resized.observe(element);
    const removeViewListener = watchView((next) => {
      view.current = next;
      requestDraw();
    });
    const removeTrafficListener = traffic.listen((change) => {
      if (change === "rates") setRateUpdates((count) => count + 1);
      requestDraw();
    });
    reducedMotion.addEventListener("change", requestDraw);
    return () => {
      cancelAnimationFrame(frame);
      resized.disconnect();
      removeViewListener();
      removeTrafficListener();
      reducedMotion.removeEventListener("change", requestDraw);
    };
  }, [traffic]);

  return (
    <>
      <canvas ref={canvas} class="traffic-canvas" />
      {tip !== undefined && <RatesTip tip={tip} traffic={traffic} />}
    </>
  );
}

/** A tooltip with the rates of one link. */
function RatesTip({ tip: { link, at, leftwards }, traffic }: { readonly tip: TrafficTip; readonly traffic: LiveTraffic }) {
  const rates = traffic.rates.filter((one) => one.link === link);
  return (
    <div class={`traffic-tip${leftwards ? " leftwards" : ""}`} role="tooltip" style={{ left: `${at.x}px`, top: `${at.y}px` }}>
      {rates.length === 0 ? (
        <p>{link}: no packets</p>
      ) : (
        <ul>
          {rates.map((rate) => (
            <li key={`${rate.from} ${rate.kind}`}>
              <span class="traffic-swatch" style={{ background: traffic.kinds.get(rate.kind)?.color }} aria-hidden="true" />
              <b>
                {rate.from} → {rate.to}
              </b>{" "}
              {traffic.kinds.get(rate.kind)?.label ?? "all packets"}: {rateText(rate, traffic.estimated)}
              <br />
              <small>{rate.last}</small>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Returns the line of each link, by key. */
function curvesOf({ nodes, links }: Graph): ReadonlyMap<string, LinkCurve> {
  const places = new Map(nodes.map(({ id, at }) => [id, at]));
  return new Map(links.map((link) => [link.key, linkCurve(link, places.get(link.from)!, places.get(link.to)!)]));
}
