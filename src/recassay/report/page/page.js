// Draws every figure in the colours of the page, and again when these change.
(function () {
  "use strict";
  const places = [...document.querySelectorAll(".plot")];
  const figures = places.map((place) => JSON.parse(place.querySelector("script").textContent));

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  }

  function faint(hex) {
    const parts = [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
    return "rgba(" + parts.join(",") + ",0.18)";
  }

  function coloured(trace) {
    const own = colour("c" + trace.colour);
    const shown = { ...trace };
    delete shown.colour;
    delete shown.band;
    if (trace.band) return { ...shown, fillcolor: faint(own) };
    shown.marker = { ...trace.marker, color: own };
    if (trace.line) shown.line = { ...trace.line, color: own, width: 2 };
    if (trace.error_y) shown.error_y = { ...trace.error_y, color: trace.type === "bar" ? colour("ink") : own };
    return shown;
  }

  function drawn(place, figure) {
    const axis = { gridcolor: colour("line"), zerolinecolor: colour("line"), linecolor: colour("soft"), fixedrange: true };
    const layout = {
      ...figure.layout,
      xaxis: { ...axis, ...figure.layout.xaxis },
      yaxis: { ...axis, ...figure.layout.yaxis },
      autosize: true,
      margin: { l: 56, r: 12, t: 12, b: 48 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: colour("ink") },
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" },
      hoverlabel: { namelength: -1 },
    };
    place.classList.add("drawn");
    Plotly.react(place, figure.data.map(coloured), layout, { displayModeBar: false, responsive: true });
  }

  function draw() {
    places.forEach((place, at) => drawn(place, figures[at]));
  }

  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
