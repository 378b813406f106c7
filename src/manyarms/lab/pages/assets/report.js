(() => {
  const { data, $, all, element, svg, text, line, path, number, withHalfWidth, scale, ticksOf, room } = page;
  const state = { world: 0, horizon: 0, log: false, hidden: new Set(), reference: 0, raised: null, narrow: false };
  const mark = (policy, x, y, kind = "mark") =>
    svg("use", { href: `#m${data.policies[policy].marker}`, x, y, class: kind });

  const swatch = (policy) =>
    svg("svg", { class: `swatch p${policy}`, viewBox: "0 0 28 14", "aria-hidden": "true" },
      line(0, 7, 28, 7, ""), svg("use", { href: `#m${data.policies[policy].marker}`, x: 14, y: 7 }));

  // ---------------------------------------------------------------- a chart of curves
  //
  // series: {policy, x, mean, half}, and fit {x, y} where the marks stand alone with error bars.

  // Sums begin with nothing at round 0; averages begin with the first checkpoint.
  function chart(host, { series, name, xLabel, yLabel, log, height, small = false, xTicks = null, sums = true }) {
    host.replaceChildren();
    series = series.filter(({ policy }) => !state.hidden.has(policy));
    if (!series.length) return host.append(element("p", { class: "nothing" }, "No policy is shown."));
    if (!log && sums) series = series.map((one) => ({ ...one, x: [0, ...one.x], mean: [0, ...one.mean], half: [0, ...one.half] }));

    const width = Math.max(240, host.clientWidth);
    const spans = series.flatMap(({ mean, half }) => mean.map((value, k) => [value - (half[k] ?? 0), value + (half[k] ?? 0)]));
    const xs = [...new Set(series.flatMap(({ x }) => x))].sort((a, b) => a - b);
    let low, high;
    if (log) {
      const means = series.flatMap(({ mean }) => mean).filter((value) => value > 0);
      if (!means.length) return host.append(element("p", { class: "nothing" }, "Nothing above 0: no logarithms."));
      const positive = spans.flat().filter((value) => value > 0);
      [low, high] = [Math.max(Math.min(...means) / 3, Math.min(...positive)) / 1.1, Math.max(...positive) * 1.15];
    } else {
      [low, high] = [Math.min(0, ...spans.map(([a]) => a)), Math.max(...spans.map(([, b]) => b))];
      high = high > low ? high + (high - low) * 0.05 : low + 1;
    }
    const yTicks = ticksOf(low, high, small ? 3 : Math.round(height / 62), log);
    const edge = { top: yLabel ? 26 : 8, right: 22, bottom: xLabel ? 44 : 24, left: room(yTicks.map(number)) + 12 };
    const [firstX, lastX] = [log || sums ? xs[0] : 0, xs[xs.length - 1]];
    const pad = xTicks ? 1.12 : 1;
    const x = scale(firstX / pad, lastX * pad, edge.left, width - edge.right, log);
    const y = scale(low, high, height - edge.bottom, edge.top, log);
    const clip = (value) => Math.min(height - edge.bottom, y(log ? Math.max(value, low) : value));

    const label = `${name}: ${series.map(({ policy, mean, half }) =>
      `${data.policies[policy].name} ends at ${withHalfWidth(mean[mean.length - 1], half[half.length - 1])}`).join("; ")}.`;
    const picture = svg("svg", {
      viewBox: `0 0 ${width} ${height}`, height, role: "img", tabindex: 0,
      "aria-label": `${label} Arrow keys read values.`,
    });
    for (const tick of yTicks) {
      picture.append(line(edge.left, y(tick), width - edge.right, y(tick), "grid"), text(edge.left - 8, y(tick) + 4, number(tick), "end"));
    }
    const bottom = height - edge.bottom;
    picture.append(line(edge.left, bottom, width - edge.right, bottom, "axis"));
    const wide = room([number(lastX)]) + (small ? 18 : 30);
    for (const tick of xTicks ?? ticksOf(firstX, lastX, Math.max(1, Math.min(6, Math.floor((width - edge.left - edge.right) / wide) - 1)), log)) {
      picture.append(line(x(tick), bottom, x(tick), bottom + 5, "axis"), text(x(tick), bottom + 18, number(tick)));
    }
    if (xLabel) picture.append(text((edge.left + width - edge.right) / 2, height - 6, xLabel, "middle", "label"));
    if (yLabel) picture.append(text(0, 12, yLabel, "start", "label"));

    const layers = series.map(({ policy, x: at, mean, half, fit }, order) => {
      const layer = svg("g", { class: `series p${policy}`, "data-policy": policy });
      const shown = at.map((_, k) => k).filter((k) => !log || mean[k] > 0);
      if (!shown.length) return layer;
      if (fit) {
        layer.append(svg("path", { class: "curve", d: path(fit.x.map((value, k) => [x(value), y(fit.y[k])])) }));
        for (const k of shown) {
          if (half[k] !== null) layer.append(line(x(at[k]), clip(mean[k] - half[k]), x(at[k]), clip(mean[k] + half[k]), "bar"));
          layer.append(mark(policy, x(at[k]), y(mean[k])));
        }
        return layer;
      }
      if (half[half.length - 1] !== null) {
        const upper = shown.map((k) => [x(at[k]), clip(mean[k] + half[k])]);
        const lower = shown.map((k) => [x(at[k]), clip(mean[k] - half[k])]).reverse();
        layer.append(svg("path", { class: "band", d: `${path([...upper, ...lower])}Z` }));
      }
      layer.append(svg("path", { class: "curve", d: path(shown.map((k) => [x(at[k]), y(mean[k])])) }));
      const marks = small ? 2 : data.marks;
      const places = new Set(Array.from({ length: marks }, (_, k) => {
        const target = edge.left + ((k + (order + 1) / (series.length + 1)) / marks) * (width - edge.left - edge.right);
        return shown.reduce((best, each) => (Math.abs(x(at[each]) - target) < Math.abs(x(at[best]) - target) ? each : best), shown[0]);
      }));
      for (const k of places) layer.append(mark(policy, x(at[k]), y(mean[k])));
      return layer;
    });
    picture.append(...layers);
    host.append(picture);
    read(host, picture, { series, xs, x, y, edge, width, height, log, xLabel: xLabel ?? "round" });
  }

  // The values at a round: by pointer or by arrow keys.
  function read(host, picture, { series, xs, x, y, edge, width, height, log, xLabel }) {
    const tip = element("div", { class: "tip", role: "status", hidden: "" });
    const cross = svg("g", { visibility: "hidden" });
    picture.append(cross);
    host.append(tip);
    const state = { at: xs.length - 1 };

    const show = () => {
      const here = xs[state.at], place = x(here);
      const values = series.map((one) => ({ ...one, k: one.x.indexOf(here) }))
        .filter(({ k, mean }) => k >= 0 && (!log || mean[k] > 0)).sort((a, b) => b.mean[b.k] - a.mean[a.k]);
      cross.replaceChildren(line(place, edge.top, place, height - edge.bottom, "rule"), ...values.map(({ policy, mean, k }) => {
        const sign = mark(policy, place, y(mean[k]));
        sign.classList.add(`p${policy}`);
        return sign;
      }));
      cross.setAttribute("visibility", "visible");
      tip.replaceChildren(element("b", {}, `${xLabel} ${number(here)}`), ...values.map(({ policy, mean, half, k }) =>
        element("div", {}, swatch(policy), element("span", {}, data.policies[policy].name), element("span", {}, withHalfWidth(mean[k], half[k])))));
      page.showTip(tip, place, width, edge.top);
    };
    const hide = () => {
      tip.hidden = true;
      cross.setAttribute("visibility", "hidden");
    };
    page.readable(picture, { width, values: xs, x, state, show, hide });
  }

  // ---------------------------------------------------------------- a chart of rows: a policy each, one scale for all
  //
  // entries: {policy, mean, half, dots, clear}; with zero, a line at 0 and marks that are hollow unless clear.

  function rows(host, entries, { log = false, zero = false, name, unit }) {
    host.replaceChildren();
    entries = entries.filter(({ policy }) => !state.hidden.has(policy));
    if (!entries.length) return host.append(element("p", { class: "nothing" }, "No policy is shown."));
    let values = entries.flatMap(({ mean, half, dots = [] }) => [mean - (half ?? 0), mean + (half ?? 0), ...dots]);
    if (log) values = values.filter((value) => value > 0);
    let low = Math.min(...values), high = Math.max(...values);
    if (!values.length) return host.append(element("p", { class: "nothing" }, "Nothing above 0: no logarithms."));
    if (zero || !log) [low, high] = [Math.min(0, low), Math.max(0, high)];
    if (high <= low) high = low + 1;
    if (log) [low, high] = [low / 1.1, high * 1.1];
    else [low, high] = [low < 0 ? low - (high - low) * 0.03 : 0, high > 0 ? high + (high - low) * 0.03 : 0];

    const cells = entries.map((entry) => {
      const plot = element("div", { class: "plot" });
      const value = element("span", { class: `value${zero && !entry.clear ? " weak" : ""}` }, withHalfWidth(entry.mean, entry.half));
      return { entry, plot, value, who: element("span", { class: "who" }, swatch(entry.policy), data.policies[entry.policy].name) };
    });
    const beneath = matchMedia("(max-width: 40rem)").matches && !state.narrow;
    for (const { who, plot, value } of cells) host.append(...(beneath ? [who, value, plot] : [who, plot, value]));
    const axis = element("div", { class: "scale" });
    host.append(axis);

    const width = Math.max(160, axis.clientWidth);
    const ticks = ticksOf(low, high, Math.max(1, Math.min(6, Math.floor(width / (room([number(high)]) + 34)) - 1)), log);
    const x = scale(low, high, 8, width - 8, log);
    for (const { entry: { policy, mean, half, dots = [], clear }, plot } of cells) {
      const height = dots.length ? 34 : 30, middle = height / 2;
      const picture = svg("svg", {
        viewBox: `0 0 ${width} ${height}`, height, role: "img", class: `p${policy}`, "data-policy": policy,
        "aria-label": `${name} of ${data.policies[policy].name}: ${withHalfWidth(mean, half)}`,
      });
      for (const tick of ticks) picture.append(line(x(tick), 0, x(tick), height, tick === 0 && zero ? "zero" : "grid"));
      dots.forEach((value, k) => {
        if (log && value <= 0) return;
        const aside = (((k * 0.618034) % 1) - 0.5) * 20;
        picture.append(svg("circle", { class: "dot", cx: x(value).toFixed(1), cy: (middle + aside).toFixed(1), r: 2.6 }));
      });
      if (!log || mean > 0) {
        const [from, to] = half === null ? [mean, mean] : [mean - half, mean + half];
        if (zero) {
          if (half !== null) {
            picture.append(line(x(from), middle, x(to), middle, "bar"));
            if (x(to) - x(from) > 16) for (const end of [x(from), x(to)]) picture.append(line(end, middle - 5, end, middle + 5, "bar"));
          }
          picture.append(mark(policy, x(mean), middle, clear ? "mark" : "hollow"));
        } else {
          const left = x(log ? Math.max(from, low) : from);
          for (const kind of ["halo", "mean"])
            picture.append(line(left, middle, x(to), middle, kind), line(x(mean), middle - 10, x(mean), middle + 10, kind));
        }
      }
      plot.append(picture);
    }
    const picture = svg("svg", { viewBox: `0 0 ${width} 24`, height: 24, "aria-hidden": "true" }, line(8, 1, width - 8, 1, "axis"));
    for (const tick of ticks) {
      picture.append(line(x(tick), 1, x(tick), 6, "axis"));
      const half = room([number(tick)]) / 2;
      picture.append(text(Math.max(half, Math.min(width - half, x(tick))), 19, number(tick)));
    }
    axis.append(picture, element("p", { class: "unit" }, unit)); // names in it may take several lines
  }

  // ---------------------------------------------------------------- what is chosen

  const cellAt = (world, horizon) => data.cells.findIndex((cell) => cell.world === world && cell.horizon === horizon);

  const series = (cell, column) => cell.policies.map(({ policy, columns }) =>
    ({ policy, x: cell.rounds, mean: columns[column][0], half: columns[column][1] }));

  function render() {
    if (cellAt(state.world, state.horizon) < 0)
      state.horizon = Math.max(...data.cells.filter(({ world }) => world === state.world).map(({ horizon }) => horizon));
    const index = cellAt(state.world, state.horizon), cell = data.cells[index];
    for (const part of all("[data-cell]")) part.hidden = Number(part.dataset.cell) !== index;
    for (const part of all("[data-world]")) part.hidden = Number(part.dataset.world) !== state.world;
    $(".chosen").textContent = `${data.worlds[state.world]}, horizon ${number(data.horizons[state.horizon])}`;
    for (const button of all(".legend button")) {
      const policy = Number(button.dataset.policy);
      button.setAttribute("aria-pressed", String(!state.hidden.has(policy)));
      button.hidden = !cell.policies.some((one) => one.policy === policy);
    }
    for (const input of all("input[name=horizon]")) {
      input.checked = Number(input.value) === state.horizon;
      input.disabled = cellAt(state.world, Number(input.value)) < 0;
    }

    chart($("[data-chart=regret]"), {
      series: series(cell, "regret"), name: "Mean regret", xLabel: "round", yLabel: "regret", log: state.log,
      height: state.narrow || innerWidth < 640 ? 320 : 430,
    });
    chart($("[data-chart=reward]"), {
      series: series(cell, "reward a round"), name: "Mean reward a round", xLabel: "round", yLabel: "reward", log: false,
      height: 300, sums: false,
    });
    const ends = cell.policies.map(({ policy, ends: dots, end: [mean, half] }) => ({ policy, mean, half, dots }));
    rows($("[data-chart=ends]"), ends, { log: state.log, name: "Final regret", unit: "regret" });
    const differences = $("[data-chart=differences]");
    if (differences) compare(differences, cell);
    const growth = $("[data-chart=growth]");
    if (growth) {
      const lines = data.growth[state.world];
      chart(growth, {
        series: lines, name: "Mean final regret against the horizon", xLabel: "horizon", yLabel: "regret", log: true,
        height: state.narrow || innerWidth < 960 ? 300 : 420, xTicks: [...new Set(lines.flatMap(({ x }) => x))],
      });
    }
    for (const panel of all("[data-column]"))
      chart($(".chart", panel), { series: series(cell, panel.dataset.column), name: $("h3", panel).textContent, log: false, height: 170, small: true });
    fade();
  }

  function compare(host, cell) {
    const here = cell.policies.map(({ policy }) => policy);
    if (!here.includes(state.reference)) state.reference = here[0];
    const chooser = $("#reference");
    chooser.replaceChildren(...here.map((policy) => element("option", { value: policy }, data.policies[policy].name)));
    chooser.value = state.reference;
    const column = here.indexOf(state.reference);
    const entries = here.map((policy, row) => ({ policy, row })).filter(({ row }) => row !== column).map(({ policy, row }) => {
      const [mean, half] = cell.differences[row][column];
      return { policy, mean, half, clear: half !== null && Math.abs(mean) > half };
    });
    rows(host, entries, { zero: true, name: "Difference", unit: `regret minus that of ${data.policies[state.reference].name}` });
  }

  const fade = () => {
    for (const layer of all(".series"))
      layer.classList.toggle("faded", state.raised !== null && Number(layer.dataset.policy) !== state.raised);
  };

  // ---------------------------------------------------------------- controls

  const choices = (title, name, options, chosen, then) =>
    page.choices(title, name, options, chosen, (value) => { then(value); render(); });

  function controls() {
    const place = $(".controls");
    state.horizon = data.horizons.length - 1;
    if (data.worlds.length > 1) {
      const select = element("select", { id: "world" }, ...data.worlds.map((name, value) => element("option", { value }, name)));
      select.value = 0;
      select.addEventListener("change", () => { state.world = Number(select.value); render(); });
      place.append(element("div", { class: "control" }, element("label", { for: "world", class: "name" }, "World"), select));
    }
    if (data.horizons.length > 1)
      place.append(choices("Horizon", "horizon", data.horizons.map(number), state.horizon, (value) => { state.horizon = value; }));
    place.append(choices("Axes", "axes", ["linear", "log"], 0, (value) => { state.log = value === 1; }));
    data.policies.forEach(({ name }, policy) => {
      const button = page.hider(state, "policy", policy, () => { state.raised = null; render(); }, swatch(policy), name);
      const raise = (value) => () => { state.raised = value; fade(); };
      button.addEventListener("pointerenter", raise(policy));
      button.addEventListener("pointerleave", raise(null));
    });
    $("#reference")?.addEventListener("change", (event) => { state.reference = Number(event.target.value); render(); });
  }

  controls();
  page.drawn(state, render);
})();
