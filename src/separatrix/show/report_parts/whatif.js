"use strict";
(function () {
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (d) { d.open = true; });
  });
  var block = document.getElementById("whatif-data");
  var form = document.getElementById("whatif");
  if (!block || !form) return;
  var model = JSON.parse(block.textContent);
  var columns = model.columns, heads = model.start.length;
  var state = columns.map(function (c) { return c.usual; });

  function byId(id) { return document.getElementById(id); }

  // erfc to rounding: a series of positive terms near 0, a continued fraction beyond
  function erfc(x) {
    if (x < 0) return 2 - erfc(-x);
    if (x < 2.5) {
      var term = x, sum = x;
      for (var n = 1; n < 200 && term > 1e-18 * sum; n++) { term *= 2 * x * x / (2 * n + 1); sum += term; }
      return 1 - 2 / Math.sqrt(Math.PI) * Math.exp(-x * x) * sum;
    }
    var f = 0;
    for (var k = 80; k > 0; k--) f = k / 2 / (x + f);
    return Math.exp(-x * x) / Math.sqrt(Math.PI) / (x + f);
  }

  function sigmoid(s) { return 1 / (1 + Math.exp(-s)); }

  function probabilities(s) {
    var p, total;
    if (model.mode === "softmax") {
      var top = Math.max.apply(null, s);
      p = s.map(function (v) { return Math.exp(v - top); });
    } else if (model.mode === "ovr") {
      p = s.map(sigmoid);
    } else {
      var one = model.mode === "probit" ? 0.5 * erfc(-s[0] / Math.SQRT2)
        : model.mode === "cloglog" ? -Math.expm1(-Math.exp(s[0])) : sigmoid(s[0]);
      return [1 - one, one];
    }
    total = p.reduce(function (a, b) { return a + b; }, 0);
    return p.map(function (v) { return v / total; });
  }

  function nearest(cells, x) {
    var best = 0;
    for (var i = 1; i < cells.length; i++) if (Math.abs(cells[i] - x) < Math.abs(cells[best] - x)) best = i;
    return best;
  }

  // the terms of a column's cell, one a head
  function terms(c, x) {
    if (c.kind === "held") return null;
    if (c.kind === "levels") return c.values[x];
    if (x === null) return c.missing;
    if (c.kind === "stops") return c.values[nearest(c.cells, x)];
    var t = (x - c.centre) / c.width;
    var b = c.kind === "poly" ? [1, t, t * t]
      : c.kind === "log" ? [1, t, Math.log(x)] : [1, Math.log(x), Math.log1p(-x)];
    return model.start.map(function (_, h) {
      return b[0] * c.weights[0][h] + b[1] * c.weights[1][h] + b[2] * c.weights[2][h];
    });
  }

  function inside(c, x) {
    x = Math.min(Math.max(x, c.low), c.high);
    if (c.whole && c.kind !== "stops") x = Math.round(x);
    return c.kind === "stops" ? c.cells[nearest(c.cells, x)] : x;
  }

  function fromPlace(c, place) {
    if (c.kind === "stops") return c.cells[place];
    var x = c.low + (c.high - c.low) * place / c.stops;
    return c.whole ? Math.round(x) : inside(c, Number(x.toFixed(c.places)));
  }

  function toPlace(c, x) {
    if (c.kind === "stops") return nearest(c.cells, x);
    return c.high > c.low ? Math.round((x - c.low) / (c.high - c.low) * c.stops) : 0;
  }

  function per(p) {
    if (p > 0 && p < 0.001) return "< 0.1 %";
    if (p < 1 && p > 0.999) return "> 99.9 %";
    return (100 * p).toFixed(1) + " %";
  }

  function show() {
    var s = model.start.slice(), own = [];
    columns.forEach(function (c, j) {
      own[j] = terms(c, state[j]);
      if (own[j]) for (var h = 0; h < heads; h++) s[h] += own[j][h];
    });
    var p = probabilities(s), best = 0;
    for (var k = 1; k < p.length; k++) if (p[k] > p[best]) best = k;
    byId("whatif-class").textContent = model.classes[best];
    byId("whatif-share").textContent = per(p[best]);
    p.forEach(function (v, k) {
      byId("whatif-bar-" + k).style.width = 100 * v + "%";
      byId("whatif-p-" + k).textContent = v.toFixed(7);
    });
    var sides = heads === 1;
    columns.forEach(function (c, j) {
      var place = byId("w" + j + "-e");
      if (!place) return;
      var from = terms(c, c.usual), change = 0;
      if (own[j] && from) change = sides ? own[j][0] - from[0] : 0;
      place.textContent = sides && Math.abs(change) >= 0.005
        ? (change > 0 ? "+" : "−") + Math.abs(change).toFixed(2) : "";
      place.className = "effect" + (change > 0 ? " up" : change < 0 ? " down" : "");
    });
    form.dataset.ready = "yes";
  }

  function put(j, but) {
    var c = columns[j], field = byId("w" + j), slider = byId("w" + j + "-r"), gap = byId("w" + j + "-m");
    if (!field) return;
    if (c.kind === "levels") { field.value = String(state[j]); return; }
    var x = state[j], empty = x === null;
    if (gap) gap.checked = empty;
    field.disabled = empty;
    slider.disabled = empty;
    if (empty) return;
    if (but !== field) field.value = String(Number(x.toPrecision(12)));
    if (but !== slider) slider.value = String(toPlace(c, x));
    slider.setAttribute("aria-valuetext", String(Number(x.toPrecision(5))));
  }

  form.addEventListener("input", function (event) {
    var at = event.target, j = Number(at.dataset.column);
    if (at.dataset.column === undefined) return;
    var c = columns[j];
    if (c.kind === "levels") state[j] = Number(at.value);
    else if (at.type === "checkbox") state[j] = at.checked ? null : inside(c, Number(byId("w" + j).value));
    else if (at.type === "range") state[j] = fromPlace(c, Number(at.value));
    else if (at.value !== "" && isFinite(Number(at.value))) state[j] = inside(c, Number(at.value));
    else return;
    put(j, at);
    show();
  });
  form.addEventListener("change", function (event) {
    if (event.target.dataset.column !== undefined) put(Number(event.target.dataset.column), null);
  });
  form.addEventListener("submit", function (event) { event.preventDefault(); });
  form.addEventListener("reset", function (event) {
    event.preventDefault();
    state = columns.map(function (c) { return c.usual; });
    columns.forEach(function (_, j) { put(j, null); });
    show();
  });

  function fromHash() {
    var found = /^#whatif=(.*)$/.exec(window.location.hash);
    if (!found) return;
    var asked;
    try { asked = JSON.parse(decodeURIComponent(found[1])); } catch (error) { return; }
    Object.keys(asked).forEach(function (key) {
      var j = Number(key), c = columns[j], v = asked[key];
      if (!c || c.kind === "held") return;
      if (c.kind === "levels") { if (c.values[v]) state[j] = v; }
      else if (v === null) { if (c.missing) state[j] = null; }
      else if (typeof v === "number" && isFinite(v)) state[j] = inside(c, v);
    });
  }

  function start() {
    fromHash();
    columns.forEach(function (_, j) { put(j, null); });
    show();
  }
  window.addEventListener("hashchange", start);
  start();
})();
