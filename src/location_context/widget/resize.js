(() => {
  // A folded list is laid out once it is on the screen and nothing else happens, so that opening only shows it.
  const idle = window.requestIdleCallback || setTimeout;
  const lists = new IntersectionObserver((seen) => {
    for (const { isIntersecting, target } of seen)
      if (isIntersecting) idle(() => target.lastElementChild.getBoundingClientRect());
  });
  document.querySelectorAll("details").forEach((one) => lists.observe(one));
  // A list that a guest jumps to is unfolded; a page in a frame requests its host to scroll to it. Links
  // that lead out are reported to the host.
  addEventListener("click", ({ target }) => {
    const link = target.closest("a[href]");
    const to = link && link.hash && !link.target && document.querySelector(link.hash);
    if (to && to.matches("details")) to.open = true;
    if (parent === window || !link) return;
    const { section = "" } = (link.closest("[data-section]") || link).dataset, { id = "" } = link.dataset;
    if (to) parent.postMessage({ type: "pulse:jump", version: 1, top: to.getBoundingClientRect().top + scrollY }, "*");
    else parent.postMessage({ type: "pulse:open", version: 1, section, id, url: link.href }, "*");
  });
  // A page made before all data came reloads once, unless a guest has opened a list.
  const root = document.documentElement, page = document.getElementById("w");
  const again = () => document.querySelector("[open]") || location.reload();
  const [visit] = performance.getEntriesByType("navigation");
  if ("late" in page.dataset && visit.type !== "reload") setTimeout(again, 4000);
  if (parent === window) return;
  let sent = 0, patience;
  // WordPress gives its frames a secret, knows their messages by it and says when it is ready
  const [, secret] = location.hash.match(/^#\?secret=([a-zA-Z0-9]+)$/) || [];
  // The height without a scrollbar, which would narrow the page and so change the height again;
  // 0 before the frame has a width (the page cannot be narrower than 160 px).
  const measure = () => {
    const whole = root.classList.contains("whole");
    root.classList.add("whole");
    const { width, height } = page.getBoundingClientRect();
    root.classList.toggle("whole", whole);
    return width < 100 ? 0 : Math.ceil(height);
  };
  // No scrollbar if everything is visible, to within the pixel that a zoomed frame may lack. If the
  // host has not resized the frame after half a second, the page scrolls.
  const settle = (height) => {
    clearTimeout(patience);
    if (innerHeight >= height - 1) root.classList.add("whole");
    else patience = setTimeout(() => root.classList.remove("whole"), 500);
  };
  const send = (again) => {
    const height = measure();
    if (!height) return void (sent = 0);
    settle(height);
    if (!again && height <= sent && height >= sent - 1) return;
    sent = height;
    parent.postMessage({ type: "pulse:resize", version: 1, height, title: document.title }, "*");
    parent.postMessage({ sentinel: "amp", type: "embed-size", height }, "*");
    if (secret) parent.postMessage({ secret, message: "height", value: height }, "*");
  };
  new ResizeObserver(() => send(false)).observe(page);
  for (const moment of ["load", "resize"]) addEventListener(moment, () => send(false));
  addEventListener("message", ({ source, data }) => {
    if (source !== parent || !data) return;
    if (data.type === "pulse:measure" || secret && data.message === "ready" && data.secret === secret) send(true);
    if (data.type === "pulse:describe") parent.postMessage({ type: "pulse:description", version: 1, ...page.dataset }, "*");
  });
})();
