/**
 * Stands in for the <style> elements that the terminal makes, which the pages' policy refuses: an empty element whose text becomes a constructed
 * style sheet of the document, for as long as it is not removed. The build puts it in their place (vite.config.ts).
 */
export function sheetElement(): HTMLElement {
  const element = document.createElement("span");
  const sheet = new CSSStyleSheet();
  const drop = () => {
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
      drop();
      Element.prototype.remove.call(element);
    },
  });
  return element;
}
