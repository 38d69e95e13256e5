// Shows the selected results and saves tables and figures as files. Without this script the page shows everything.
(function () {
  "use strict";
  const form = document.getElementById("controls");
  const parts = [...document.querySelectorAll("#results [data-data]")];

  // Results of a large page are text until they are selected; returns their parts, which the page then shows.
  function unpack(part) {
    const text = part.classList.contains("packed") && part.querySelector("noscript");
    if (!text) return part.classList.contains("packed") ? [...part.querySelectorAll("[data-data]")] : [part];
    part.innerHTML = text.textContent;
    const inside = [...part.querySelectorAll("[data-data]")];
    parts.push(...inside);
    equip(part);
    return inside;
  }

  function matches(part, key, value) {
    return part.dataset[key] === undefined || part.dataset[key] === value;
  }

  // Each selection limits the options of the following controls. A selected option that is no longer available is
  // replaced by the first available one.
  function applySelection() {
    let selected = parts.filter((part) => part.classList.contains("packed") || !part.closest(".packed"));
    for (const select of form.elements) {
      if (select.name === "design") selected = selected.flatMap(unpack);
      const available = new Set(selected.map((part) => part.dataset[select.name]));
      for (const option of select.options) option.hidden = option.disabled = !available.has(option.value);
      if (!available.has(select.value)) select.value = [...select.options].find((one) => !one.disabled).value;
      select.disabled = [...select.options].filter((one) => !one.disabled).length < 2;
      selected = selected.filter((part) => matches(part, select.name, select.value));
    }
    selected = selected.flatMap(unpack);
    const shown = new Set(selected);
    for (const part of parts) part.hidden = !part.classList.contains("packed") && !shown.has(part);
    const heading = selected.map((part) => part.querySelector("h3")).find(Boolean);
    return heading ? heading.textContent : "";
  }

  // Tables that are wider than their frame say so.
  const frames = new ResizeObserver((changes) => {
    for (const { target } of changes) {
      const is_cut = target.scrollWidth > target.clientWidth + 1;
      let hint = target.previousElementSibling;
      if (!hint || !hint.classList.contains("cut")) {
        if (!is_cut) continue;
        hint = document.createElement("p");
        hint.className = "cut";
        hint.textContent = "This table is wider than the screen: scroll it sideways →";
        target.before(hint);
      }
      hint.hidden = !is_cut;
    }
  });

  function save(name, type, content) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    link.download = name.replace(/[^\w.@()=,+-]+/g, "_");
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // Numbers at full precision where a cell shows them rounded.
  function csv(table) {
    const quoted = (text) => (/[",\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);
    const text = (cell) => cell.dataset.v || (cell.querySelector(".id") || cell).textContent.trim().replace(/\s+/g, " ");
    const cells = (row) => [...row.cells].filter((cell) => cell.getAttribute("aria-hidden") !== "true");
    return [...table.rows].map((row) => cells(row).map((cell) => quoted(text(cell))).join(",")).join("\n") + "\n";
  }

  // A figure as a complete SVG file, with its style in the current colours of the page.
  function standalone(svg) {
    const look = getComputedStyle(document.documentElement);
    const style = document.getElementById("figure-style").textContent;
    const copy = svg.cloneNode(true);
    const own = document.createElementNS("http://www.w3.org/2000/svg", "style");
    own.textContent = style.replace(/var\((--[\w-]+)\)/g, (_, name) => look.getPropertyValue(name).trim());
    copy.prepend(own);
    return new XMLSerializer().serializeToString(copy);
  }

  function png(svg, name) {
    const scale = 3, image = new Image(), canvas = document.createElement("canvas");
    image.onload = () => {
      canvas.width = scale * svg.viewBox.baseVal.width;
      canvas.height = scale * svg.viewBox.baseVal.height;
      const context = canvas.getContext("2d");
      context.fillStyle = getComputedStyle(document.body).backgroundColor;
      context.fillRect(0, 0, canvas.width, canvas.height);
      context.drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => save(name, "image/png", blob));
    };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(standalone(svg));
  }

  function equip(root) {
    for (const frame of root.querySelectorAll(".scroll")) frames.observe(frame);
    root.querySelectorAll(".block").forEach(addTools);
  }

  function addTools(block) {
    const name = block.dataset.file, table = block.querySelector("table"), figures = [...block.querySelectorAll(".figure")];
    const bar = document.createElement("p");
    bar.className = "tools";
    const addButton = (label, what, action) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = label;
      button.setAttribute("aria-label", "Save " + what + " as " + label + ": " + name);
      button.addEventListener("click", action);
      bar.append(button);
    };
    const fileName = (at) => (figures.length > 1 ? name + "-" + (at + 1) : name);
    if (figures.length) {
      addButton("SVG", "figure", () => figures.forEach((one, at) => save(fileName(at) + ".svg", "image/svg+xml", standalone(one))));
      addButton("PNG", "figure", () => figures.forEach((one, at) => png(one, fileName(at) + ".png")));
    }
    if (table) addButton("CSV", "table", () => save(name + ".csv", "text/csv", csv(table)));
    const caption = block.querySelector("figcaption");
    caption ? caption.after(bar) : block.append(bar);
  }

  // The verdict is folded to its first sentence where all of it would fill the screen.
  const more = document.querySelector(".headline .more");
  if (more && more.parentElement.getBoundingClientRect().bottom + scrollY > 700) {
    more.classList.add("folds");
    more.open = false;
    addEventListener("beforeprint", () => (more.open = true));
  }
  equip(document);
  if (form) {
    form.hidden = false;
    form.addEventListener("change", () => {
      document.getElementById("shown").textContent = "Shown: " + applySelection();
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    applySelection();
  }
})();
