// What stands behind a number of the heat map: by touch, pointer or arrow keys, in a line that stays in sight.
const readFields = () => {
  const line = document.querySelector(".reading");
  const fields = [...document.querySelectorAll(".heat td[title]")];
  if (!fields.length) return;
  line.hidden = false;
  let chosen = fields[0];
  const choose = (field) => {
    chosen.tabIndex = -1;
    chosen.classList.remove("chosen-field");
    chosen = field;
    chosen.tabIndex = 0;
    chosen.classList.add("chosen-field");
    const contest = chosen.parentElement.querySelector("th").textContent;
    line.textContent = `${contest}. ${chosen.title}`;
  };
  chosen.tabIndex = 0; // one stop of the Tab key for all; the arrow keys go on from there
  const beside = (step) => fields[fields.indexOf(chosen) + step];
  const below = (step) => {
    const column = fields.filter((field) => field.cellIndex === chosen.cellIndex);
    return column[column.indexOf(chosen) + step];
  };
  const table = document.querySelector(".heat");
  const fieldOf = (event) => event.target.closest("td[title]");
  table.addEventListener("click", (event) => fieldOf(event) && choose(fieldOf(event)));
  table.addEventListener("focusin", (event) => fieldOf(event)?.matches(":focus-visible") && choose(fieldOf(event)));
  table.addEventListener("keydown", (event) => {
    const steps = {
      ArrowLeft: () => beside(-1), ArrowRight: () => beside(1), ArrowUp: () => below(-1), ArrowDown: () => below(1),
    };
    if (!fieldOf(event) || !steps[event.key]) return;
    event.preventDefault();
    const next = steps[event.key]();
    if (!next) return;
    choose(next);
    next.focus();
  });
};
readFields();
