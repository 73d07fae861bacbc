"use strict";
// Lays each page out in a frame of each width, and lists the parts that do not show all of
// themselves. Folded parts are opened first: readers open them too.
(() => {
  const { pages, widths } = JSON.parse(document.getElementById("pages").textContent);
  const frames = [];
  for (const [name, page] of pages) {
    for (const width of widths) {
      const frame = document.createElement("iframe");
      frame.style.cssText = `width:${width}px;height:900px;border:0`;
      frame.srcdoc = page;
      document.body.append(frame);
      frames.push({ name, width, frame });
    }
  }

  const words = (element) => {
    const text = element.textContent.trim().replace(/\s+/g, " ").slice(0, 40);
    const kind = element.className.baseVal ?? element.className;
    return `<${element.localName}${kind ? ` class="${kind}"` : ""}> "${text}"`;
  };

  // What screen readers get and eyes do not, and what is not laid out at all.
  const isUnseen = (element, style) =>
    style.clipPath === "inset(50%)" || element.closest(".unseen") || !element.getClientRects().length;

  // The places of a drawing are in its own measure, and its labels stand outside of the plot.
  const isDrawn = (element) => element.closest("svg, .plot, .bar");

  const beyond = (inner, outer) =>
    Math.max(outer.left - inner.left, inner.right - outer.right, 0);

  const measure = (frame) => {
    const { contentDocument: document, contentWindow: window } = frame;
    for (const details of document.querySelectorAll("details")) details.open = true;
    const found = [];
    const root = document.documentElement;
    if (root.scrollWidth > root.clientWidth) {
      found.push(`the page is ${root.scrollWidth} px wide in ${root.clientWidth}`);
    }
    const page = { left: 0, right: root.clientWidth };
    for (const element of document.body.querySelectorAll("*")) {
      const style = window.getComputedStyle(element);
      if (isUnseen(element, style) || isDrawn(element)) continue;
      // Inline elements have no width of their own; what holds them has.
      if (element.clientWidth > 0 && element.scrollWidth > element.clientWidth) {
        found.push(`${words(element)} is ${element.scrollWidth} px wide in ${element.clientWidth}`);
      }
      const out = beyond(element.getBoundingClientRect(), page);
      if (out > 0.5) found.push(`${words(element)} ends ${out.toFixed(1)} px outside of the page`);
    }
    for (const text of document.querySelectorAll("svg text")) {
      const box = text.getBoundingClientRect();
      const out = Math.max(beyond(box, text.closest("svg").getBoundingClientRect()), beyond(box, page));
      if (out > 0.5) found.push(`${words(text)} ends ${out.toFixed(1)} px outside of its drawing`);
    }
    for (const figure of document.querySelectorAll("figure")) {
      const edge = figure.getBoundingClientRect();
      for (const axis of figure.querySelectorAll(".x, .y")) labels(axis, edge, found);
    }
    return found;
  };

  // Labels of an axis lie in their figure, and not on one another.
  const labels = (axis, edge, found) => {
    const spans = [...axis.querySelectorAll("span")].filter((span) => span.getClientRects().length);
    const boxes = spans.map((span) => span.getBoundingClientRect());
    spans.forEach((span, i) => {
      const out = beyond(boxes[i], edge);
      if (out > 0.5) found.push(`label ${words(span)} ends ${out.toFixed(1)} px outside of its figure`);
      const isOn = (other) => other.left < boxes[i].right - 0.5 && other.right > boxes[i].left + 0.5
        && other.top < boxes[i].bottom - 2 && other.bottom > boxes[i].top + 2;
      const on = spans.find((_, j) => j > i && isOn(boxes[j]));
      if (on) found.push(`label ${words(span)} lies on ${words(on)}`);
    });
  };

  window.addEventListener("load", () => {
    const lines = frames.flatMap(({ name, width, frame }) =>
      measure(frame).map((finding) => `${name} at ${width}: ${finding}`));
    const list = Object.assign(document.createElement("pre"), { id: "findings" });
    list.textContent = `${frames.length} measured\n${lines.join("\n")}`;
    document.body.replaceChildren(list);
  });
})();
