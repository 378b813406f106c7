(() => {
  const { data, $, all, element, svg, text, line, path, number, scale, ticksOf, room } = page;
  const state = { log: false, hidden: new Set(), narrow: false, at: data.rounds.length - 1 };
  const KINDS = {
    restarts: "Restarts", shifts: "Significant shifts", blocks: "Blocks",
  };
  const shown = (kind) => data[kind] !== null && !state.hidden.has(kind);
  let charts = [];

  // ---------------------------------------------------------------- what all charts share

  function frame(host, height, name, { low = 0, high = 1, ticks = null, label = number, bottom = 26, top = 6 } = {}) {
    const width = Math.max(240, host.clientWidth);
    const left = charts.left, right = 14;
    const first = state.log ? 1 : 0;
    const x = scale(first, Math.max(data.horizon, first + 1), left, width - right, state.log);
    const y = scale(low, high, height - bottom, top, false);
    const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", tabindex: 0, "aria-label": name });
    const floor = height - bottom;

    if (shown("restarts") && data.restarts.rounds.length === data.restarts.total) {
      const edges = [first, ...data.restarts.rounds, data.horizon];
      for (let k = 1; k < edges.length - 1; k += 2) {
        const from = x(edges[k]);
        picture.append(svg("rect", { class: "ground", x: from.toFixed(1), y: top, width: Math.max(0, x(edges[k + 1]) - from).toFixed(1), height: floor - top }));
      }
    }
    for (const tick of ticks ?? []) picture.append(line(left, y(tick.at), width - right, y(tick.at), "grid"), text(left - 8, y(tick.at) + 4, label(tick.value), "end"));
    for (const kind of ["shifts", "restarts"])
      if (shown(kind) && data[kind].total <= data.mostRules)
        picture.append(svg("path", {
          class: `rule-${kind.slice(0, -1)}`, "stroke-opacity": Math.min(0.75, 25 / data[kind].total).toFixed(2), // the more, the fainter
          d: data[kind].rounds.map((round) => `M${x(round).toFixed(1)} ${top}V${floor}`).join(""),
        }));
    picture.append(line(left, floor, width - right, floor, "axis"));
    const wide = room([number(data.horizon)]) + 26;
    for (const tick of ticksOf(first, data.horizon, Math.max(1, Math.min(8, Math.floor((width - left - right) / wide) - 1)), state.log))
      picture.append(line(x(tick), floor, x(tick), floor + 4, "axis"), text(Math.min(x(tick), width - room([number(tick)]) / 2), floor + 18, number(tick)));
    host.replaceChildren(picture);
    const chart = { host, picture, x, y, width, height, top, floor, left };
    charts.push(chart);
    page.readable(picture, { width, values: data.rounds, x, state, show: () => show(chart), hide });
    return chart;
  }

  const simple = (values) => values.map((value) => ({ at: value, value }));

  // ---------------------------------------------------------------- the charts

  function strip() {
    const rows = ["shifts", "restarts", "blocks"].filter(shown);
    const height = 12 + 26 * Math.max(1, rows.length) + 26;
    const { picture, x } = frame($("[data-chart=strip]"), height, "Where significant shifts, restarts and blocks are");
    rows.forEach((kind, row) => {
      const middle = 19 + 26 * row, crowd = data[kind].rounds.length > 80 ? 0.75 : 1;
      picture.append(text(charts.left - 8, middle + 4, kind, "end"));
      data[kind].rounds.forEach((round, k) => {
        if (kind === "blocks") return picture.append(line(x(round), middle - 7, x(round), middle + 7, "block"));
        const look = data.signs[data[kind].verdicts[k]], size = crowd * (look === "dot" ? 0.5 : 1);
        const sign = svg("g", { class: `marks ${kind.slice(0, -1)} ${look}` },
          svg("use", { href: `#${kind.slice(0, -1)}`, transform: `translate(${x(round).toFixed(1)} ${middle}) scale(${size})` }),
          svg("title", {}, data[kind].words[k]));
        if (look === "full") picture.append(sign);
        else picture.insertBefore(sign, $("g", picture)); // beneath those that are answered
      });
    });
  }

  function curves(chart, height, name, lines) {
    const values = lines.flatMap(([column]) => data.curves[column]);
    const low = Math.min(0, ...values), high = Math.max(...values) > low ? Math.max(...values) * 1.04 : low + 1;
    const ticks = simple(ticksOf(low, high, Math.max(2, Math.round(height / 60)), false));
    const { picture, x, y } = frame($(`[data-chart=${chart}]`), height, name, { low, high, ticks });
    for (const [column, kind] of lines) {
      const points = data.rounds.map((round, k) => [x(round), y(data.curves[column][k])]);
      if (!state.log) points.unshift([x(0), y(0)]);
      picture.append(svg("path", { class: kind, "data-curve": column, d: path(points) }));
    }
  }

  const rootHeight = (mean) => 1 - Math.sqrt(Math.max(0, 1 - mean));

  function lifeLines() {
    const ticks = data.meanTicks.map((value) => ({ at: rootHeight(value), value }));
    const height = state.narrow || innerWidth < 640 ? 320 : 400;
    const { picture, x, y } = frame($("[data-chart=lines]"), height, "Means of the arms that were played", { low: -0.02, high: 1.02, ticks });
    const { bins } = data.shades, { edges, steps } = data.shades[state.log ? "log" : "linear"];
    const offset = state.log ? 0 : 1;
    steps.forEach((places, step) => {
      if (!places.length) return;
      const d = places.map((place) => {
        const column = Math.floor(place / bins), level = place % bins;
        const a = x(edges[column] - offset), b = x(Math.min(edges[column + 1] - offset, data.horizon));
        const up = y((level + 1) / bins), down = y(level / bins);
        return `M${a.toFixed(1)} ${up.toFixed(1)}H${b.toFixed(1)}V${down.toFixed(1)}H${a.toFixed(1)}Z`;
      }).join("");
      picture.append(svg("path", { class: "shade", "fill-opacity": ((step + 0.5) / steps.length).toFixed(3), d }));
    });
    const most = Math.max(1, ...data.lines.map(({ plays }) => plays));
    for (const { arm, plays, last, x: rounds, y: means } of data.lines) {
      const share = Math.sqrt(plays / most);
      const points = rounds.map((round, k) => [x(round), y(rootHeight(means[k]))]);
      const life = svg("g", { class: "life", "stroke-opacity": (0.45 + 0.5 * share).toFixed(2) });
      let start = 0;
      for (let k = 1; k <= points.length; k++) {
        if (k < points.length && Math.abs(means[k] - means[k - 1]) < data.jump) continue;
        life.append(svg("path", { d: path(points.slice(start, k)), "stroke-width": (0.8 + 4 * share).toFixed(1) }));
        if (k < points.length) life.append(svg("path", { d: path(points.slice(k - 1, k + 1)), "stroke-width": 1 }));
        start = k;
      }
      if (!last) {
        const [endX, endY] = points[points.length - 1];
        life.append(svg("path", { d: `M${endX.toFixed(1)} ${(endY - 5).toFixed(1)}v10`, "stroke-width": 1.25 }));
      }
      const from = number(means[0]), to = number(means[means.length - 1]);
      life.append(svg("title", {}, `Arm ${arm}: ${number(plays)} plays in rounds ${number(rounds[0])} to ${number(rounds[rounds.length - 1])}, mean ${from === to ? from : `${from} to ${to}`}`));
      picture.append(life);
    }
  }

  // ---------------------------------------------------------------- the values at a round, in all charts at once

  const tip = element("div", { class: "tip", role: "status", hidden: "" });
  const NAMES = { regret: "regret", best: "of best arms", V: "V", V_R: "V_R", L: "L", L_R: "L_R" };

  function show(chart) {
    const round = data.rounds[state.at];
    for (const { picture, x, top, floor } of charts) {
      $(".cross", picture)?.remove();
      picture.append(line(x(round), top, x(round), floor, "axis cross"));
    }
    const values = element("div", { class: "values" });
    const rows = [["episode", number(data.episodes[state.at] + 1)], ...Object.entries(NAMES).map(([column, name]) => [name, number(data.curves[column][state.at])])];
    for (const [name, value] of rows) values.append(element("span", {}, name), element("span", {}, value));
    tip.replaceChildren(element("b", {}, `round ${number(round)}`), values);
    chart.host.append(tip);
    page.showTip(tip, chart.x(round), chart.width, chart.top);
  }

  function hide() {
    tip.hidden = true;
    for (const cross of all(".cross")) cross.remove();
  }

  // ---------------------------------------------------------------- all of it

  function render() {
    const small = state.narrow || innerWidth < 640;
    charts = Object.assign([], { left: Math.max(64, room([number(Math.max(...data.curves.regret))]) + 12) });
    for (const button of all(".legend button")) button.setAttribute("aria-pressed", String(shown(button.dataset.kind)));
    $(".chosen").textContent = `Rounds on a ${state.log ? "logarithmic" : "linear"} axis`;
    strip();
    curves("regret", small ? 200 : 260, "Regret", [["best", "part"], ["regret", "total"]]);
    lifeLines();
    curves("V", 170, "V and V_R", [["V", "total"], ["V_R", "falls"]]);
    curves("L", 170, "L and L_R", [["L", "total"], ["L_R", "falls"]]);
  }

  function controls() {
    $(".controls").append(page.choices("Rounds", "axis", ["linear", "log"], 0, (value) => { state.log = value === 1; render(); }));
    const key = (kind, sign) => svg("svg", { class: `sign ${kind} ${sign}`, viewBox: "-7 -7 14 14", "aria-hidden": "true" }, svg("use", { href: `#${kind}` }));
    for (const [kind, name] of Object.entries(KINDS)) {
      if (data[kind] === null) continue;
      const sign = kind === "blocks"
        ? svg("svg", { class: "sign", viewBox: "-7 -7 14 14", "aria-hidden": "true" }, line(-4, -6, -4, 6, "block"), line(0, -6, 0, 6, "block"), line(5, -6, 5, 6, "block"))
        : key(kind.slice(0, -1), "full");
      page.hider(state, "kind", kind, render, sign, `${name} (${number(data[kind].total)})`);
    }
    const list = element("p", { class: "keys" });
    for (const [kind, verdict, words] of data.keys)
      if (data[kind]?.verdicts.includes(verdict)) list.append(element("span", {}, key(kind.slice(0, -1), data.signs[verdict]), words));
    $("[data-chart=strip]").after(list);
  }

  controls();
  page.drawn(state, render);
})();
