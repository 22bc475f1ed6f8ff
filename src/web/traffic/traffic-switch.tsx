import { lazy } from "../parts/lazy.tsx";
import { useFeature } from "../parts/use-feature.ts";
import type { ShownTraffic } from "./shown-traffic.ts";
import type { TrafficSelection } from "./use-traffic.ts";
import "./traffic-switch.css";

const TrafficBar = lazy(() => import("./traffic-bar.tsx"));

interface TrafficSwitchProps {
  readonly lab: string;
  readonly isOn: boolean;
  readonly onSwitch: (isOn: boolean) => void;
  /** The selection in the topology. */
  readonly selection: TrafficSelection | undefined;
  /** Called with the watched traffic, and with undefined when it is no longer watched. */
  readonly onTraffic: (traffic: ShownTraffic | undefined) => void;
  /** Shows the rates of each link. */
  readonly onRates: () => void;
}

/** Switches the live traffic of a lab on and off. Empty if the host does not support it. */
export function TrafficSwitch({ isOn, onSwitch, ...bar }: TrafficSwitchProps) {
  const { data: isSupported } = useFeature("traffic");
  if (isSupported !== true) return null;
  return (
    <>
      <button type="button" aria-pressed={isOn} onClick={() => onSwitch(!isOn)}>
        Live traffic
      </button>
      {isOn && (
        <div class="traffic-switch">
          <TrafficBar {...bar} />
        </div>
      )}
    </>
  );
}
