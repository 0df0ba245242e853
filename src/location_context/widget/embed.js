/*! Location Context embed.js | MIT License | sizes every widget on the page to its content */
(() => {
  const script = document.currentScript || document.querySelector('script[src*="/v1/embed.js"]');
  const own = new URL("pulse", script.src).href;
  const seen = new WeakMap();
  const widgets = () => [...document.querySelectorAll("iframe")].filter((frame) => frame.src.split(/[?#]/)[0] === own);
  const lend = (frame) => {
    const place = new URL(frame.src).searchParams.get("place");
    frame.title ||= "Weather, sky, restaurants and events" + (place ? ": " + place : "");
  };
  addEventListener("message", ({ source, data }) => {
    const height = data && data.type === "pulse:resize" && data.height;
    if (typeof height != "number" || !(height >= 1 && height <= 20000)) return;
    const frame = widgets().find((one) => one.contentWindow === source);
    if (!frame) return;
    lend(frame);
    const now = performance.now();
    let last = seen.get(frame);
    if (!last || now - last.since > 1000) seen.set(frame, last = { since: now, count: 0, height: 0 });
    // A host whose layout answers each height with another width would go on for ever: only grow.
    if (++last.count > 20 && height < last.height) return;
    last.height = height;
    const border = getComputedStyle(frame).boxSizing === "border-box" ? frame.offsetHeight - frame.clientHeight : 0;
    frame.style.height = Math.ceil(height) + border + "px";
  });
  // Asked again: widgets that spoke before this script came, and those out of sight while the
  // window changes, which browsers let sleep.
  const ask = () => {
    for (const frame of widgets()) {
      lend(frame);
      frame.contentWindow.postMessage({ type: "pulse:measure", version: 1 }, "*");
    }
  };
  addEventListener("resize", ask);
  ask();
})();
