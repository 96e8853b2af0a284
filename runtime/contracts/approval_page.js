// Sends the answers without leaving the page, and keeps up with what waits. Without this script the forms work by themselves.
"use strict";

const token = document.querySelector("meta[name=csrf-token]").content;
const rests = { idle: "The session has gone on to its end.", suspended: "The session has gone on, and waits again." };
const nameKept = "crashwindow.by";

async function post(path, body) {
  const response = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ...body, csrf_token: token }),
  });
  const said = await response.json();
  if (!response.ok) throw new Error(said.error);
  return said;
}

function settle(card, kind, text) {
  card.classList.remove("conflict", "gone");
  card.classList.add(kind);
  const outcome = card.querySelector(".outcome");
  outcome.textContent = text;
  if (kind === "conflict") {
    const again = document.createElement("a");
    again.href = "/";
    again.textContent = "Look again";
    outcome.append(" ", again);
  }
}

// A name that is missing, or a repetition that is not confirmed, is said at the field, and nothing is sent.
function complete(form, decision) {
  for (const name of decision === "approve" ? ["by", "again_of"] : ["by"]) {
    const input = form.elements[name];
    if (!input) continue;
    const given = input.type === "checkbox" ? input.checked : input.value.trim() !== "";
    input.setCustomValidity(given ? "" : input.type === "checkbox" ? "Confirm that it is meant to happen again" : "Who says so?");
    input.addEventListener("input", () => input.setCustomValidity(""), { once: true });
    if (!input.reportValidity()) return false;
  }
  return true;
}

async function answer(card, form, decision) {
  const { by, reason, again_of, retries, data, ...shown } = Object.fromEntries(new FormData(form));
  const body = { ...shown, by, decision, version: Number(shown.version) };
  if (decision === "deny" && reason) body.reason = reason;
  if (decision === "approve" && again_of) body.again_of = again_of;
  if (decision === "approve" && retries) body.retries = true;
  if (decision === "data") body.data = data;
  localStorage.setItem(nameKept, by);
  await post("/ecs/respond", body);
}

async function submitted(event) {
  const form = event.target;
  const card = form.closest("article");
  const decision = event.submitter?.value;
  event.preventDefault();
  if (card.dataset.busy || (form.elements.by && !complete(form, decision))) return;
  card.dataset.busy = "yes";
  for (const button of form.querySelectorAll("button")) button.disabled = true;
  const words = { approve: "Approved", deny: "Denied", data: "Answered" };
  try {
    if (decision) await answer(card, form, decision);
    card.querySelector(".outcome").textContent = `${words[decision] ?? "Continuing"}…`;
    const said = await post("/ecs/continue", { session_id: card.dataset.session });
    settle(card, "done", [`${words[decision] ?? "Continued"}.`, said.note || rests[said.status] || `The session is ${said.status}.`].join(" "));
  } catch (error) {
    settle(card, "conflict", error.message);
  }
}

// What waits has changed: take over what is new, and mark what is gone. A card that somebody fills in is left as it is.
async function refresh() {
  const response = await fetch("/");
  if (!response.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const keys = new Set([...page.querySelectorAll("article")].map((card) => card.dataset.key));
  for (const card of document.querySelectorAll("article:not(.gone)")) {
    if (!keys.has(card.dataset.key) && !card.dataset.busy && card.querySelector(".outcome")) {
      settle(card, "gone", "This waits no more: it was answered elsewhere, or has ended.");
    } else if (!keys.has(card.dataset.key) && !card.dataset.busy) card.remove();
  }
  const known = new Set([...document.querySelectorAll("article")].map((card) => card.dataset.key));
  const busy = new Set([...document.querySelectorAll("article[data-busy]")].map((card) => card.dataset.id));
  for (const section of page.querySelectorAll("section")) {
    const here = document.getElementById(section.id);
    for (const card of section.querySelectorAll("article")) {
      if (!known.has(card.dataset.key) && !busy.has(card.dataset.id)) here.append(wired(document.adoptNode(card)));
    }
    const cards = here.querySelector("article");
    here.hidden = !cards && section.hidden;
    const empty = here.querySelector(".empty");
    if (empty) empty.hidden = Boolean(cards);
  }
  document.title = page.title;
}

function wired(root) {
  const name = root.querySelector("[name=by]");
  if (name) name.value ||= localStorage.getItem(nameKept) ?? "";
  return root;
}

document.querySelectorAll("article").forEach(wired);
document.addEventListener("submit", submitted);
const live = document.getElementById("live");
const stream = new EventSource("/ecs/events");
let due;
for (const kind of ["ecs", "unknown", "settled"]) {
  stream.addEventListener(kind, () => {
    clearTimeout(due);
    due = setTimeout(refresh, 100);
  });
}
stream.onerror = () => { live.textContent = "The service does not answer: what is shown may be old."; };
stream.onopen = () => { live.textContent = ""; };
