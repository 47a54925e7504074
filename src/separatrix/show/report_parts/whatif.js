"use strict";
(function () {
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (d) { d.open = true; });
  });
  var block = document.getElementById("whatif-data");
  var form = document.getElementById("whatif");
  if (!block || !form) return;
  var model = JSON.parse(block.textContent);
  var columns = model.columns, heads = model.start ? model.start.length : 0;
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

  function numbers(text, Kind) {
    var bytes = Uint8Array.from(atob(text), function (c) { return c.charCodeAt(0); });
    return new Kind(bytes.buffer);
  }

  if (model.head === "trees") {
    model.feature = numbers(model.feature, Int32Array);
    model.threshold = numbers(model.threshold, model.narrow ? Float32Array : Float64Array);
    model.left = numbers(model.left, Int32Array);
    model.right = numbers(model.right, Int32Array);
    model.flags = numbers(model.flags, Uint8Array);
    model.values = numbers(model.values, Float64Array);
  } else if (model.head === "kernel") {
    model.vectors = numbers(model.vectors, Float64Array);
    model.coef = numbers(model.coef, Float64Array);
  }

  // the mean of the leaves that z falls into; NaN is a missing cell
  function ofTrees(z) {
    var k = model.classes.length, p = new Array(k).fill(0);
    if (model.single) z = z.map(Math.fround);
    model.begins.forEach(function (at) {
      while (model.feature[at] >= 0) {
        var x = z[model.feature[at]], gap = (model.flags[at] & 1) === 1, left;
        if (x !== x) left = gap;
        else if (model.flags[at] & 2) {
          var set = model.sets[model.threshold[at]], level = Math.trunc(x);
          left = x < 0 || x >= 64 ? gap : ((level < 32 ? set[0] >>> level : set[1] >>> (level - 32)) & 1) === 1;
        } else left = x <= model.threshold[at];
        at = left ? model.left[at] : model.right[at];
      }
      for (var c = 0; c < k; c++) p[c] += model.values[model.left[at] * k + c];
    });
    return p.map(function (v) { return v / model.begins.length; });
  }

  function mapped(map, score) {
    if (map.x === undefined) return sigmoid(map.slope * score + map.offset);
    var n = map.x.length, i = 0;
    if (score <= map.x[0]) return map.y[0];
    if (score >= map.x[n - 1]) return map.y[n - 1];
    while (map.x[i + 1] < score) i++;
    return map.y[i] + (map.y[i + 1] - map.y[i]) * (score - map.x[i]) / (map.x[i + 1] - map.x[i]);
  }

  // probabilities of K classes from those of pairs, by the equations of Wu, Lin and Weng
  function coupled(r, k) {
    var A = [], i, j, c, m = k + 1;
    for (i = 0; i < m; i++) {
      A.push(new Array(m + 1).fill(0));
      for (j = 0; j < m; j++) {
        if (i < k && j < k) {
          if (i !== j) A[i][j] = -r[j][i] * r[i][j];
          else for (c = 0; c < k; c++) if (c !== i) A[i][i] += r[c][i] * r[c][i];
        } else if (i < k || j < k) A[i][j] = 1;
      }
    }
    A[k][m] = 1;
    for (i = 0; i < m; i++) {
      var top = i;
      for (j = i + 1; j < m; j++) if (Math.abs(A[j][i]) > Math.abs(A[top][i])) top = j;
      var row = A[i]; A[i] = A[top]; A[top] = row;
      for (j = i + 1; j < m; j++) {
        var f = A[j][i] / A[i][i];
        for (c = i; c <= m; c++) A[j][c] -= f * A[i][c];
      }
    }
    var p = new Array(m).fill(0);
    for (i = m - 1; i >= 0; i--) {
      p[i] = A[i][m];
      for (j = i + 1; j < m; j++) p[i] -= A[i][j] * p[j];
      p[i] /= A[i][i];
    }
    return shared(p.slice(0, k).map(function (v) { return Math.max(v, 0); }));
  }

  function shared(p) {
    var total = p.reduce(function (a, b) { return a + b; }, 0);
    return p.map(function (v) { return total > 0 ? v / total : 1 / p.length; });
  }

  function ofKernel(z) {
    var q = model.width, machines = model.intercept.length, s = model.intercept.slice(), k = model.classes.length;
    for (var i = 0; i < model.vectors.length / q; i++) {
      var inner = 0, far = 0;
      for (var j = 0; j < q; j++) {
        var v = model.vectors[i * q + j];
        inner += v * z[j];
        far += (v - z[j]) * (v - z[j]);
      }
      var value = model.kernel === "rbf" ? Math.exp(-model.gamma * far)
        : model.kernel === "poly" ? Math.pow(model.gamma * inner + model.coef0, model.degree)
        : model.kernel === "sigmoid" ? Math.tanh(model.gamma * inner + model.coef0) : inner;
      for (var m = 0; m < machines; m++) s[m] += model.coef[i * machines + m] * value;
    }
    var p = s.map(function (score, m) { return mapped(model.maps[m], score); });
    if (k === 2) return [1 - p[0], p[0]];
    if (!model.coupled) return shared(p);
    var r = [], at = 0;
    for (var a = 0; a < k; a++) r.push(new Array(k).fill(0));
    for (a = 0; a < k; a++) for (var b = a + 1; b < k; b++) { r[a][b] = p[at]; r[b][a] = 1 - p[at]; at++; }
    return coupled(r, k);
  }

  function nearest(cells, x) {
    var best = 0;
    for (var i = 1; i < cells.length; i++) if (Math.abs(cells[i] - x) < Math.abs(cells[best] - x)) best = i;
    return best;
  }

  // the terms of a column's cell, one a head
  function terms(c, x) {
    if (c.kind === "held") return c.values ? c.values[0] : null;
    if (c.kind === "levels") return c.values[x];
    if (x === null) return c.missing;
    if (c.kind === "stops") return c.values[nearest(c.cells, x)];
    var t = (x - c.centre) / c.width;
    var b = c.kind === "poly" ? [1, t, t * t]
      : c.kind === "log" ? [1, t, Math.log(x)] : [1, Math.log(x), Math.log1p(-x)];
    return c.weights[0].map(function (_, h) {
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

  function answer(own) {
    if (model.head === "sum") {
      var s = model.start.slice();
      own.forEach(function (v) { if (v) for (var h = 0; h < heads; h++) s[h] += v[h]; });
      return probabilities(s);
    }
    var z = new Array(model.width).fill(0);
    columns.forEach(function (c, j) {
      c.at.forEach(function (place, i) { z[place] = own[j][i] === null ? NaN : own[j][i]; });
    });
    return model.head === "trees" ? ofTrees(z) : ofKernel(z);
  }

  function show() {
    var own = columns.map(function (c, j) { return terms(c, state[j]); });
    var p = answer(own), best = 0;
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
