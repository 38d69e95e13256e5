// Shows the results a reader chooses, and saves tables and pictures as files. Without it everything is shown.
(function () {
  "use strict";
  const form = document.getElementById("controls");
  const parts = [...document.querySelectorAll("#results [data-data]")];

  function fits(part, key, value) {
    return part.dataset[key] === undefined || part.dataset[key] === value;
  }

  // Every choice narrows what the next one offers; one that is no longer offered becomes the first that is.
  function choose() {
    let left = parts;
    for (const select of form.elements) {
      const offered = new Set(left.map((part) => part.dataset[select.name]));
      for (const option of select.options) option.hidden = option.disabled = !offered.has(option.value);
      if (!offered.has(select.value)) select.value = [...select.options].find((one) => !one.disabled).value;
      select.disabled = [...select.options].filter((one) => !one.disabled).length < 2;
      left = left.filter((part) => fits(part, select.name, select.value));
    }
    for (const part of parts) part.hidden = !left.includes(part);
    const heading = left.map((part) => part.querySelector("h3")).find(Boolean);
    return heading ? heading.textContent : "";
  }

  if (form) {
    form.hidden = false;
    form.addEventListener("change", () => {
      document.getElementById("shown").textContent = "Shown: " + choose();
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    choose();
  }

  function save(name, type, content) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    link.download = name.replace(/[^\w.@()=,+-]+/g, "_");
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // Numbers as they were computed, where a cell shows them rounded.
  function csv(table) {
    const quoted = (text) => (/[",\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);
    const text = (cell) => cell.dataset.v || (cell.querySelector(".id") || cell).textContent.trim().replace(/\s+/g, " ");
    const cells = (row) => [...row.cells].filter((cell) => cell.getAttribute("aria-hidden") !== "true");
    return [...table.rows].map((row) => cells(row).map((cell) => quoted(text(cell))).join(",")).join("\n") + "\n";
  }

  // A picture that stands alone: with its style, whose colours are those of the page now.
  function alone(svg) {
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
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(alone(svg));
  }

  for (const block of document.querySelectorAll(".block")) {
    const name = block.dataset.file, table = block.querySelector("table"), pictures = [...block.querySelectorAll(".figure")];
    const bar = document.createElement("p");
    bar.className = "tools";
    const offer = (label, what, action) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = label;
      button.setAttribute("aria-label", "Save " + what + " as " + label + ": " + name);
      button.addEventListener("click", action);
      bar.append(button);
    };
    const numbered = (at) => (pictures.length > 1 ? name + "-" + (at + 1) : name);
    if (pictures.length) {
      offer("SVG", "picture", () => pictures.forEach((one, at) => save(numbered(at) + ".svg", "image/svg+xml", alone(one))));
      offer("PNG", "picture", () => pictures.forEach((one, at) => png(one, numbered(at) + ".png")));
    }
    if (table) offer("CSV", "table", () => save(name + ".csv", "text/csv", csv(table)));
    const caption = block.querySelector("figcaption");
    caption ? caption.after(bar) : block.append(bar);
  }
})();
