/*! Location Context embed.js | MIT License */
(() => {
  const script = document.currentScript || document.querySelector('script[src*="/v1/embed.js"]');
  const own = new URL("pulse", script.src).href;
  const seen = new WeakMap();
  const widgets = () => [...document.querySelectorAll("iframe")].filter((frame) => frame.src.split(/[?#]/)[0] === own);
  // Frames that are hidden or not laid out yet: their heights are ignored until they have a width.
  const narrow = new ResizeObserver((entries) => {
    for (const { target } of entries) if (target.clientWidth >= 100) narrow.unobserve(target), ask(target);
  });
  const edges = (frame) => {
    const style = getComputedStyle(frame);
    if (style.boxSizing !== "border-box") return 0;
    return ["borderTopWidth", "borderBottomWidth", "paddingTop", "paddingBottom"].reduce((sum, name) => sum + parseFloat(style[name]), 0);
  };
  addEventListener("message", ({ source, data }) => {
    const height = data && data.type === "pulse:resize" && data.height;
    if (!(height === +height && height >= 1 && height <= 20000)) return;
    const frame = widgets().find((frame) => frame.contentWindow === source);
    if (!frame) return;
    lend(frame);
    const now = performance.now(), width = frame.clientWidth;
    if (width < 100) return narrow.observe(frame);
    const last = seen.get(frame) || {};
    seen.set(frame, last);
    if (!(now - last.since < 1000)) last.since = now, last.falls = last.turns = 0;
    const falls = height < last.height;
    // A host whose layout answers each height with another width, such as one whose scrollbar comes
    // and goes, would never settle: only grow, and ask once more later, in case a window was being
    // dragged. Such a host returns to the width before the last; a dragged window rarely does.
    if (falls && last.rose && width == last.older) last.since = now, last.turns++;
    last.older = last.width, last.width = width;
    if (falls && (++last.falls > 20 || last.turns > 2)) {
      clearTimeout(last.timer);
      if (!(now - last.asked < 1e4)) last.timer = setTimeout(() => { last.asked = performance.now(); ask(frame); }, 1100);
      return;
    }
    last.rose = !falls;
    frame.style.height = Math.ceil(last.height = height) + edges(frame) + "px";
  });
  // A title where there is none. A frame without `style`, for hosts whose policy refuses it in HTML,
  // has the height by its width in `data-reserve`, until the widget says its own.
  const lend = (frame) => {
    const place = new URL(frame.src).searchParams.get("place"), { style, dataset } = frame;
    frame.title ||= "About the stay" + (place ? ": " + place : "");
    if (!dataset.reserve || seen.has(frame)) return;
    style.border = 0;
    style.width = "100%";
    style.height = dataset.reserve.replace(/cqi/g, `*${frame.clientWidth}px/100`);
  };
  const ask = (frame) => {
    lend(frame);
    frame.contentWindow.postMessage({ type: "pulse:measure", version: 1 }, "*");
  };
  // Ask widgets that sent their height before this script loaded, and after a resize those out of
  // sight, which browsers suspend.
  const all = () => widgets().forEach(ask);
  addEventListener("resize", all);
  all();
})();
