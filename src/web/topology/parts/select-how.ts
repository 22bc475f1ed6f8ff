/** How a shape was selected: with the keyboard, so that the focus moves to the panel, or in addition to the selected ones. */
export interface SelectHow {
  readonly byKeyboard?: boolean;
  readonly add?: boolean;
}

export type OnSelectShape = (id: string, how: SelectHow) => void;
