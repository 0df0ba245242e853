/*! Location Context embed.js | MIT License */
(() => {
  const script = document.currentScript || document.querySelector('script[src*="/v1/embed.js"]');
  const own = new URL("pulse", script.src).href, holders = "[data-location-context]";
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
    if (!data || !/^pulse:(resize|open|jump)$/.test(data.type)) return;
    const frame = widgets().find((frame) => frame.contentWindow === source);
    if (!frame) return;
    if (data.type === "pulse:open") {
      const { section, id, url } = data;
      frame.dispatchEvent(new CustomEvent("pulse:open", { bubbles: true, detail: { section, id, url } }));
    } else if (data.type === "pulse:jump") jump(frame, data.top);
    else {
      // in the widget's language; a title that the page gives its own iframe stays
      if (data.title && (!frame.title || frame.closest(holders))) frame.title = data.title;
      fit(frame, data.height);
    }
  });
  // A widget may not scroll the page that it is in: what a guest jumps to is brought into view here.
  const jump = (frame, top) => {
    if (!(top >= 0 && top <= 20000)) return;
    const behavior = matchMedia("(prefers-reduced-motion:reduce)").matches ? "auto" : "smooth";
    scrollBy({ top: frame.getBoundingClientRect().top + top - 8, behavior });
  };
  const fit = (frame, height) => {
    if (!(height === +height && height >= 1 && height <= 20000)) return;
    dress(frame);
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
      if (!(now - last.sent < 1e4)) last.timer = setTimeout(() => { last.sent = performance.now(); ask(frame); }, 1100);
      return;
    }
    last.rose = !falls;
    frame.style.height = Math.ceil(last.height = height) + edges(frame) + "px";
  };
  // No border, and the widget's own colour scheme: a frame of another scheme than its page is opaque.
  const dress = (frame) => {
    const { style } = frame, theme = new URL(frame.src).searchParams.get("theme") || "light";
    style.border = 0;
    style.colorScheme = theme === "auto" ? "light dark" : theme;
  };
  const ask = (frame) => {
    dress(frame);
    frame.contentWindow.postMessage({ type: "pulse:measure", version: 1 }, "*");
  };

  // The height of a usual stay, from a table of heights by width.
  const heights = HEIGHTS;
  const reserve = (width, given) => {
    const { widths } = heights, at = (name) => {
      const found = heights[name], next = widths.findIndex((one) => one >= width);
      if (next < 1) return found[next ? widths.length - 1 : 0];
      const share = (width - widths[next - 1]) / (widths[next] - widths[next - 1]);
      return found[next - 1] + share * (found[next] - found[next - 1]);
    };
    if (given.get("layout") === "compact") return at("compact");
    const day = 864e5, start = Date.parse(given.get("start")) || Date.now();
    const days = +given.get("days") || Math.round((Date.parse(given.get("end")) - start) / day) + 1 || 7;
    const names = given.get("sections") ? given.get("sections").split(",") : ["weather", "astronomy", "guide", "events"];
    const rows = days > 10 ? Math.ceil(days / 7) : days, far = start - Date.now() > 16 * day;
    const cards = ["astronomy", "guide", "year"].filter((name) => names.includes(name)).map(at);
    if (names.includes("weather")) cards.unshift(far && days <= 10 ? at("typical") : at("stay") + rows * at(names.includes("events") ? "row" : "bare"));
    else if (names.includes("events")) cards.unshift(at("typical"));
    return at("frame") + arranged(cards, width);
  };
  const sum = (some) => some.reduce((all, one) => all + one, 0);
  const arranged = (cards, width) => {
    if (width < 640 || cards.length < 2) return sum(cards);
    if (width < 880) return cards.length > 2 ? cards[0] + Math.max(...cards.slice(1)) : sum(cards);
    return Math.min(...cards.slice(1).map((_, at) => Math.max(sum(cards.slice(0, at + 1)), sum(cards.slice(at + 1)))));
  };

  // <div data-location-context data-lat data-lng …>: each attribute is a parameter of the widget;
  // `start-from` and `end-from` name fields of the page's form, which are followed.
  const query = ({ dataset }) => {
    const given = new URLSearchParams();
    for (const [name, value] of Object.entries(dataset)) if (!/^locationContext$|From$/.test(name)) given.set(name, value);
    const [start, end] = ["startFrom", "endFrom"].map((name) => dataset[name] && (document.querySelector(dataset[name]) || {}).value);
    if (start && end && start <= end) {
      given.delete("days");
      given.set("start", start);
      given.set("end", end);
    } else if (!given.get("start")) given.set("days", dataset.days || 7);
    return given;
  };
  const frames = new WeakMap();
  const show = (holder) => {
    const given = query(holder), address = own + "?" + given;
    let frame = frames.get(holder);
    if (frame) {
      if (frame.src === address) return;
      // a frame that goes elsewhere would put an entry into the history of the page
      const next = frame.cloneNode();
      next.src = address;
      frame.replaceWith(next);
      frame = next;
    } else {
      frame = document.createElement("iframe");
      frame.src = address;
      frame.title = given.get("place") || "Location Context"; // until it is loaded
      frame.loading = "lazy";
      frame.sandbox = "SANDBOX";
      const { style } = frame;
      style.display = "block";
      style.width = "100%";
      style.height = Math.round(reserve(holder.clientWidth || 360, given)) + "px";
      holder.replaceChildren(frame);
    }
    frames.set(holder, frame);
    dress(frame);
  };
  const showAll = () => document.querySelectorAll(holders).forEach(show);
  new MutationObserver(showAll).observe(document, { subtree: true, childList: true, attributeFilter: ["data-start", "data-end", "data-days", "data-lat", "data-lng", "data-theme", "data-lang", "data-guide", "data-place"] });
  addEventListener("change", showAll);
  showAll();

  // Ask widgets that sent their height before this script loaded, and after a resize those out of
  // sight, which browsers suspend.
  const all = () => widgets().forEach(ask);
  addEventListener("resize", all);
  all();
})();
