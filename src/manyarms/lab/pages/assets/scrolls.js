"use strict";
// Says which tables are wider than their places, and fades their right edges until they are scrolled to the end.
const watchScrolls = () => {
  const parts = [...document.querySelectorAll(".scroll")].map((part) => {
    const hint = document.createElement("p");
    hint.className = "hint";
    hint.textContent = "Scroll sideways for more \u2192";
    hint.hidden = true;
    part.before(hint);
    const look = () => {
      hint.hidden = part.clientWidth === 0 || part.scrollWidth <= part.clientWidth + 1;
      part.classList.toggle("more", part.scrollLeft + part.clientWidth < part.scrollWidth - 1);
    };
    part.addEventListener("scroll", look, { passive: true });
    new ResizeObserver(look).observe(part); // also when it is shown for the first time
    return look;
  });
  for (const look of parts) look();
};
watchScrolls();
