// What all pages share: elements, numbers, scales, and drawing anew when the width changes or the page is printed.
const page = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);

  // ---------------------------------------------------------------- elements

  const $ = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  const made = (node, attributes = {}, ...children) => {
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  };

  const element = (name, ...parts) => made(document.createElement(name), ...parts);
  const svg = (name, ...parts) => made(document.createElementNS("http://www.w3.org/2000/svg", name), ...parts);

  const text = (x, y, words, anchor = "middle", kind = "") =>
    svg("text", { x, y, "text-anchor": anchor, class: kind }, words);

  const line = (x1, y1, x2, y2, kind) => svg("line", { x1, y1, x2, y2, class: kind });

  const path = (points) => points.map(([a, b], k) => `${k ? "L" : "M"}${a.toFixed(1)} ${b.toFixed(1)}`).join("");

  // ---------------------------------------------------------------- numbers, as in statistics.py, which says how

  const { digits: DIGITS, whole: WHOLE, mostDecimals: MOST_DECIMALS } = data.numbers;
  const minus = (words) => words.replace("-", "\u2212");
  const fixed = (value, digits) =>
    value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });

  const number = (value) => {
    if (value === null || !Number.isFinite(value)) return "\u2013";
    return minus(Math.abs(value) >= WHOLE ? fixed(value, 0) : String(Number(value.toPrecision(DIGITS))));
  };

  const withHalfWidth = (mean, half) => {
    if (mean === null || half === null) return number(mean);
    const digits = half === 0 ? 0 : Math.min(MOST_DECIMALS, Math.max(0, 1 - Math.floor(Math.log10(half))));
    return minus(`${fixed(mean, digits)} \u00b1 ${fixed(half, digits)}`);
  };

  // ---------------------------------------------------------------- scales and ticks

  const scale = (low, high, from, to, log) => {
    const move = log ? Math.log10 : (value) => value;
    const a = move(low), width = move(high) - a || 1;
    const place = (value) => from + ((move(value) - a) / width) * (to - from);
    return Object.assign(place, { low, high, log });
  };

  const linearTicks = (low, high, wanted) => {
    const rough = (high - low) / Math.max(1, wanted);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
    const ticks = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) ticks.push(Number((k * step).toPrecision(12)));
    return ticks;
  };

  const logTicks = (low, high, wanted) => {
    const within = (factors) => {
      const ticks = [];
      for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
        for (const factor of factors) {
          const value = Number((factor * 10 ** power).toPrecision(12));
          if (value >= low * 0.999 && value <= high * 1.001) ticks.push(value);
        }
      return ticks;
    };
    const fine = [[1, 2, 5], [1, 3], [1]].map(within).find((ticks) => ticks.length <= wanted + 2) ?? within([1]);
    const every = Math.ceil(fine.length / (wanted + 2));
    return fine.filter((_, k) => k % every === 0);
  };

  const ticksOf = (low, high, wanted, log) => (log ? logTicks : linearTicks)(low, high, wanted);

  const room = (labels) => 6.7 * Math.max(...labels.map((label) => label.length));

  // ---------------------------------------------------------------- reading values

  // By pointer or by arrow keys: state.at becomes the place of the value that is meant, of some in order; then show().
  const readable = (picture, { width, values, x, state, show, hide }) => {
    const last = values.length - 1;
    const point = (event) => {
      const box = picture.getBoundingClientRect();
      const target = (event.clientX - box.left) * (width / box.width);
      let [low, high] = [0, last]; // x rises with the values
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (x(values[middle]) < target) low = middle; else high = middle;
      }
      state.at = Math.abs(x(values[low]) - target) <= Math.abs(x(values[high]) - target) ? low : high;
      show();
    };
    picture.addEventListener("pointermove", point);
    picture.addEventListener("pointerdown", point);
    picture.addEventListener("pointerleave", hide);
    picture.addEventListener("focus", () => picture.matches(":focus-visible") && show());
    picture.addEventListener("blur", hide);
    picture.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: state.at - 1, ArrowRight: state.at + 1, Home: 0, End: last }[event.key];
      if (event.key === "Escape") hide();
      if (step === undefined) return;
      event.preventDefault();
      state.at = Math.max(0, Math.min(last, step));
      show();
    });
  };

  // Shows a tip at the right of a place, or at its left where there is no room.
  const showTip = (tip, place, width, top) => {
    tip.hidden = false;
    const left = place + 14 + tip.offsetWidth <= width ? place + 14 : place - 14 - tip.offsetWidth;
    tip.style.transform = `translate(${Math.max(0, Math.min(left, width - tip.offsetWidth))}px, ${top}px)`;
  };

  // ---------------------------------------------------------------- widths and paper

  // Draws whenever the page has another width. On paper everything that can be opened is open, and state.narrow is set.
  const drawn = (state, render) => {
    $(".toolbar").hidden = false;
    $(".without").remove();
    render();
    let known = document.body.clientWidth, waiting = 0;
    new ResizeObserver(() => {
      if (document.body.clientWidth === known || state.narrow) return;
      known = document.body.clientWidth;
      cancelAnimationFrame(waiting);
      waiting = requestAnimationFrame(render);
    }).observe(document.body);

    let closed = [];
    const print = (on) => {
      if (on === state.narrow) return;
      state.narrow = on;
      document.documentElement.classList.toggle("printing", on);
      if (on) closed = all("details:not([open])");
      for (const part of closed) part.open = on;
      render();
    };
    addEventListener("beforeprint", () => print(true));
    addEventListener("afterprint", () => print(false));
    matchMedia("print").addEventListener("change", (event) => print(event.matches));
  };

  // A choice between a few words; then(place) is told which.
  const choices = (title, name, options, chosen, then) => {
    const list = element("div", { class: "choices" });
    options.forEach((words, value) => {
      const input = element("input", { type: "radio", name, value });
      input.checked = value === chosen;
      input.addEventListener("change", () => then(value));
      list.append(element("label", {}, input, element("span", {}, words)));
    });
    return element("fieldset", { class: "control" }, element("legend", {}, title), list);
  };

  // A button of the legend that hides something and shows it again; then() is told.
  const hider = (state, kind, value, then, ...children) => {
    const button = element("button", { type: "button", [`data-${kind}`]: value, "aria-pressed": "true" }, ...children);
    button.addEventListener("click", () => {
      if (!state.hidden.delete(value)) state.hidden.add(value);
      then();
    });
    $(".legend").append(button);
    return button;
  };

  return {
    data, $, all, element, svg, text, line, path, number, withHalfWidth, scale, ticksOf, room, readable, showTip, choices, hider, drawn,
  };
})();
