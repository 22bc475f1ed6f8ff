import { useRef, useState } from "preact/hooks";
import { Menu, type MenuItem } from "./menu.tsx";

interface MenuButtonProps {
  /** Names the button and the menu. */
  readonly label: string;
  readonly items: readonly MenuItem[];
}

/** A button that opens a menu below it. */
export function MenuButton({ label, items }: MenuButtonProps) {
  const button = useRef<HTMLButtonElement>(null);
  const [place, setPlace] = useState<{ readonly x: number; readonly y: number }>();
  const open = () => {
    const { left, bottom } = button.current!.getBoundingClientRect();
    setPlace({ x: left, y: bottom });
  };
  return (
    <>
      <button ref={button} type="button" aria-haspopup="menu" aria-expanded={place !== undefined} aria-label={label} onClick={open}>
        ⋯
      </button>
      {place !== undefined && <Menu label={label} items={items} {...place} onClose={() => setPlace(undefined)} />}
    </>
  );
}
