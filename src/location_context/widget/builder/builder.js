// The builder with JavaScript: at each change it requests the same page again and takes over the
// parts marked data-live, so that all text, checks and code come from the server.
(() => {
  const form = document.getElementById("form");
  const field = (name) => document.getElementById(name);
  const choices = field("sections"), place = field("place"), hex = field("hex"), list = field("matches"), copy = field("copy");

  // Requesting the page again
  let timer, asking, changed = false;
  const later = (wait, byUser = true) => { changed ||= byUser; clearTimeout(timer); timer = setTimeout(refresh, wait); };
  const query = () => {
    const data = new FormData(form);
    if (!data.get("accent")) data.set("accent", hex.value);
    const sections = data.getAll("sections").join();
    for (const name of ["was", "hex", "sections"]) data.delete(name);
    if (sections !== choices.dataset.all) data.set("sections", sections);
    for (const [name, usual] of [["theme", "light"], ["font", "system"], ["radius", "14"]])
      if (data.get(name) === usual) data.delete(name);
    if (data.get("days")) for (const name of ["start", "end"]) data.delete(name);
    if (data.get("accent").toLowerCase() === hex.dataset.default) data.delete("accent");
    const pairs = [...data].filter(([name, value]) => value || /^(lat|lng|start|end)$/.test(name));
    return "?" + String(new URLSearchParams(pairs)).replaceAll("%2C", ",");
  };
  async function refresh() {
    asking?.abort();
    asking = new AbortController();
    const address = query();
    try {
      const answer = await fetch(address, { signal: asking.signal });
      if (!answer.ok) return;
      take(new DOMParser().parseFromString(await answer.text(), "text/html"));
      history.replaceState(null, "", query());
    } catch (error) {
      if (error.name !== "AbortError") setTimeout(() => later(0, false), 3000);
    }
  }
  function take(page) {
    for (const part of page.querySelectorAll("[data-live]")) {
      if (part.id === "frame") show(part.querySelector("iframe"));
      else if (part.id === "others" && !changed) continue; // places to choose from stay until one does
      else if (part.innerHTML !== field(part.id).innerHTML) replace(part, field(part.id));
    }
    for (const input of page.getElementById("form").querySelectorAll("input[id], select[id]")) {
      const mine = field(input.id);
      if (!mine) continue; // guides were named since
      if (input.hasAttribute("aria-invalid")) mine.setAttribute("aria-invalid", "true");
      else mine.removeAttribute("aria-invalid");
    }
    // Coordinates or a map's address in the place's field have become the point; not while they are typed
    const read = page.getElementById("place");
    if (!typed && read.dataset.pasted && read.dataset.pasted === place.value.trim()) {
      for (const name of ["place", "lat", "lng"]) field(name).value = page.getElementById(name).value;
      clearTimeout(looking);
      found += 1; // no search that is under way opens the list
      close();
    }
    if (field("code").querySelector("pre")) field("own").setAttribute("fill", page.getElementById("own").getAttribute("fill"));
    const without = !field("code").querySelector("pre");
    if (without && document.activeElement === copy) focusOn(field("code"));
    copy.disabled = without;
    reserve();
  }

  // Code stays in its element; elsewhere the focus goes on to what stands in its place, or to the part
  function replace(theirs, mine) {
    const [from, to] = [theirs.querySelector("code"), mine.querySelector("code")];
    if (from && to) return to.replaceChildren(...from.childNodes);
    const stops = () => [...mine.querySelectorAll("a, pre")], at = stops().indexOf(document.activeElement);
    mine.replaceChildren(...theirs.childNodes);
    if (at >= 0) stops()[at] ? stops()[at].focus() : focusOn(mine);
  }
  function focusOn(part) {
    part.tabIndex = -1;
    part.focus();
  }

  // The preview keeps its frame, so that Back leaves the builder and nothing flickers
  function show(next) {
    const frame = field("widget");
    if (!next) return;
    if (!frame) return field("frame").append(document.importNode(next)), watch();
    frame.title = next.title;
    if (frame.dataset.shown === next.getAttribute("src")) return;
    frame.dataset.shown = next.getAttribute("src");
    frame.contentWindow.location.replace(new URL(next.getAttribute("src"), document.baseURI));
  }
  const watched = new ResizeObserver(() => reserve());
  function watch() {
    const frame = field("widget");
    if (!frame) return;
    frame.dataset.shown = frame.getAttribute("src");
    watched.observe(frame);
    frame.addEventListener("load", describe);
    describe();
  }
  // Only the preview knows what it shows: ask its window
  function describe() {
    field("widget").contentWindow.postMessage({ type: "pulse:describe", version: 1 }, "*");
  }
  // By then the server knows the content of the widget, and reserves the height for it
  addEventListener("message", ({ source, data }) => {
    const frame = field("widget"), { dataset } = field("shown");
    if (data?.type !== "pulse:description" || source !== frame?.contentWindow) return;
    if (frame.dataset.read !== frame.dataset.shown) later(500, false);
    frame.dataset.read = frame.dataset.shown;
    field("shown").textContent = [dataset[data.reason], dataset[data.weather]].filter(Boolean).join(" ");
  });
  // The height of the preview is the height to reserve
  function reserve() {
    const frame = field("widget"), height = field("code").querySelector("[data-height]");
    if (!frame) return;
    document.querySelector(".measure").textContent = frame.clientWidth + " px";
    if (height && frame.style.height && frame.clientHeight) height.textContent = Math.round(frame.clientHeight);
  }

  // The place: a combobox over /v1/places
  let places = [], active = -1, looking, found = 0, typed = false;
  const isOpen = () => !list.hidden;
  function close() {
    list.hidden = true;
    active = -1;
    place.setAttribute("aria-expanded", "false");
    place.removeAttribute("aria-activedescendant");
  }
  function activate(at) {
    active = at;
    [...list.children].forEach((option, index) => option.setAttribute("aria-selected", index === at));
    if (at < 0) return place.removeAttribute("aria-activedescendant");
    place.setAttribute("aria-activedescendant", list.children[at].id);
    list.children[at].scrollIntoView({ block: "nearest" });
  }
  function pick(at) {
    const { name, lat, lng } = places[at];
    place.value = name;
    field("lat").value = +lat.toFixed(4);
    field("lng").value = +lng.toFixed(4);
    close();
    typed = false;
    later(0);
  }
  // A name that was typed and not picked keeps the coordinates
  function rename() {
    if (typed) later(0);
    typed = false;
  }
  function offer({ places: matches, summary }) {
    const chosen = places[active];
    places = matches;
    list.replaceChildren(...matches.map(({ name, detail }, index) => {
      const option = document.createElement("li"), text = document.createElement("span"), more = document.createElement("small");
      option.id = "match-" + index;
      option.role = "option";
      text.textContent = name || detail;
      more.textContent = name && detail;
      option.append(text, " ", more);
      option.addEventListener("pointerdown", (event) => event.preventDefault());
      option.addEventListener("click", () => pick(index));
      return option;
    }));
    field("searched").textContent = matches.length ? summary : place.dataset.nothing;
    list.hidden = !matches.length;
    place.setAttribute("aria-expanded", String(!list.hidden));
    activate(matches.findIndex(({ lat, lng }) => lat === chosen?.lat && lng === chosen?.lng));
  }
  async function ask(text) {
    const answer = await fetch("v1/places?" + new URLSearchParams({ q: text, lang: document.documentElement.lang }));
    if (!answer.ok) throw new Error(answer.status);
    return answer.json();
  }
  async function search() {
    const text = place.value.trim(), turn = ++found;
    if (!text) return close();
    try {
      const matches = await ask(text);
      if (turn === found && document.activeElement === place) offer(matches);
    } catch {
      if (turn === found) field("searched").textContent = place.dataset.failed;
    }
  }
  for (const [name, value] of [["role", "combobox"], ["aria-autocomplete", "list"], ["aria-expanded", "false"], ["aria-controls", "matches"]]) {
    place.setAttribute(name, value);
  }
  place.addEventListener("input", (event) => {
    event.stopPropagation();
    clearTimeout(looking);
    looking = setTimeout(search, 120);
    typed = event.inputType !== "insertFromPaste";
    if (!typed) later(0);
  });
  // The first search of all takes the server a moment: start it before the typing
  place.addEventListener("focus", () => ask(place.value).catch(() => {}), { once: true });
  place.addEventListener("blur", () => { close(); rename(); });
  place.addEventListener("keydown", (event) => {
    const last = list.children.length - 1;
    if (event.key === "Escape" && isOpen()) { close(); event.preventDefault(); }
    if (event.key === "Enter") {
      event.preventDefault();
      if (isOpen()) pick(Math.max(active, 0));
      else rename();
    }
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!isOpen()) return void search();
      activate(event.key === "ArrowDown" ? (active < last ? active + 1 : 0) : (active > 0 ? active - 1 : last));
    }
  });

  // The dates: an arrival after the departure moves the departure, keeping the number of nights
  const start = field("start"), end = field("end"), day = 864e5;
  let nights = end.valueAsNumber - start.valueAsNumber;
  start.addEventListener("input", () => {
    if (start.valueAsNumber > end.valueAsNumber) end.valueAsNumber = start.valueAsNumber + (nights > 0 ? nights : day);
  });
  for (const date of [start, end]) date.addEventListener("input", () => {
    const now = end.valueAsNumber - start.valueAsNumber;
    if (now >= 0) nights = now;
  });

  // The sections: one at least is ticked, and a button moves its own before the one above
  choices.addEventListener("input", ({ target }) => {
    if (!choices.querySelector(":checked")) target.checked = true;
  });
  choices.addEventListener("click", (event) => {
    const button = event.target.closest("button"), item = button?.closest("li");
    if (!button) return;
    event.preventDefault();
    if (item.previousElementSibling) {
      item.previousElementSibling.before(item);
      (item.previousElementSibling ? button : item.querySelector("input")).focus();
    }
    later(0);
  });

  // The other fields
  form.addEventListener("input", ({ target }) => {
    if (target.type === "radio" && target.name === "accent" && target.value) hex.value = target.value;
    if (target === hex) {
      const swatch = [...form.elements.accent].find((one) => one.value === hex.value.toLowerCase());
      (swatch || form.querySelector(".own input")).checked = true;
    }
    later(target.matches("input[inputmode], #hex, [type=date]") ? 500 : 0);
  });
  for (const one of document.querySelectorAll("[form=form]")) one.addEventListener("input", () => later(0));
  form.addEventListener("submit", (event) => { event.preventDefault(); later(0); });
  document.querySelector(".preview .segments").addEventListener("input", reserve);

  // Copying
  let said;
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    const code = field("code").querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
      say(copy.dataset.copied, true);
    } catch {
      getSelection().selectAllChildren(code);
      const done = document.execCommand("copy");
      say(done ? copy.dataset.copied : copy.dataset.select, done);
    }
  });
  function say(words, done) {
    const label = copy.querySelector("span"), usual = (copy.dataset.usual ||= label.textContent);
    clearTimeout(said);
    field("copied").textContent = words;
    if (done) label.textContent = words;
    copy.classList.toggle("done", done);
    said = setTimeout(() => { label.textContent = usual; field("copied").textContent = ""; copy.classList.remove("done"); }, 2500);
  }
  watch();
  reserve();
})();
