/**
 * Replaces the <style> elements that the terminal creates, which the pages' content security policy refuses. The text of this element becomes a
 * constructed style sheet of the document until the element is removed. The build makes the replacement (vite.config.ts).
 */
export function sheetElement(): HTMLElement {
  const element = document.createElement("span");
  const sheet = new CSSStyleSheet();
  const removeSheet = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
  };
  element.hidden = true;
  Object.defineProperty(element, "textContent", {
    set: (text: string) => {
      sheet.replaceSync(text);
      if (!document.adoptedStyleSheets.includes(sheet)) document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    },
  });
  Object.defineProperty(element, "remove", {
    value: () => {
      removeSheet();
      Element.prototype.remove.call(element);
    },
  });
  return element;
}
