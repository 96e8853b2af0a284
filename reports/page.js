"use strict";
(() => {
  const open = (target) => {
    for (let node = target; node; node = node.parentElement) {
      if (node.tagName === "DETAILS") node.open = true;
    }
  };

  const stepper = (root) => {
    const steps = [...root.querySelectorAll("ol > li")];
    const list = root.querySelector(".steps");
    const position = root.querySelector(".position");
    const rows = new Map([...root.querySelectorAll("[data-field]")].map((row) => [row.dataset.field, row]));
    const changes = steps.map((step) => JSON.parse(step.dataset.changed));
    const last = steps.length - 1;
    let now = 0;

    const show = (wanted, scroll) => {
      now = Math.max(0, Math.min(last, wanted));
      const state = Object.assign({}, ...changes.slice(0, now + 1));
      steps.forEach((step, n) => {
        if (n === now) step.setAttribute("aria-current", "step");
        else step.removeAttribute("aria-current");
      });
      rows.forEach((row, field) => {
        row.cells[1].textContent = field in state ? state[field] : "";
        row.classList.toggle("changed", now > 0 && field in changes[now]);
      });
      root.querySelector(".after").textContent = now;
      position.textContent = `step ${now} of ${last}`;
      if (scroll) steps[now].scrollIntoView({ block: "nearest" });
    };

    const moves = { first: () => 0, back: () => now - 1, next: () => now + 1, last: () => last };
    const keys = { ArrowLeft: "back", ArrowUp: "back", ArrowRight: "next", ArrowDown: "next", Home: "first", End: "last" };
    const bar = root.querySelector(".moves");
    bar.hidden = false;
    bar.addEventListener("click", (event) => {
      const move = event.target.dataset.move;
      if (move) show(moves[move](), true);
    });
    const press = (event) => {
      const move = keys[event.key];
      if (!move || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      show(moves[move](), true);
    };
    list.addEventListener("keydown", press);
    bar.addEventListener("keydown", press);
    steps.forEach((step, n) => step.addEventListener("click", () => show(n, false)));
    show(0, false);
    addEventListener("beforeprint", () => show(last, false));
  };

  document.querySelectorAll(".sequence").forEach(stepper);

  const follow = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target) {
      open(target);
      target.scrollIntoView();
    }
  };
  addEventListener("hashchange", follow);
  follow();

  // What is folded is not printed: whoever wants everything on paper unfolds it first.
  const button = document.querySelector(".unfold");
  const folds = [...document.querySelectorAll("details")];
  if (button && folds.length) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const fold = folds.every((details) => details.open);
      folds.forEach((details) => { details.open = !fold; });
      button.setAttribute("aria-pressed", String(!fold));
    });
  }
})();
