// What the pages do beyond HTML: all of them work without it.
"use strict";

// Deleting asks first.
document.addEventListener("submit", (event) => {
  const question = event.target.dataset.confirm;
  if (question && !window.confirm(question)) event.preventDefault();
});

// A file that the server would refuse for its size is not sent at all.
for (const input of document.querySelectorAll("input[type=file][data-max]")) {
  input.addEventListener("change", () => {
    const file = input.files[0];
    const tooLarge = file && file.size > Number(input.dataset.max);
    input.setCustomValidity(tooLarge ? "This file is too large." : "");
    if (tooLarge) input.reportValidity();
  });
}

// The status page refreshes its numbers every two seconds while somebody looks.
const live = document.querySelector("[data-live]");
if (live) {
  const text = live.querySelector("[data-live-text]");
  const spark = document.querySelector("[data-spark] path");
  const rates = [];
  let before = null;

  const show = (status) => {
    for (const element of document.querySelectorAll("[data-value]")) {
      const value = element.dataset.value.split(".").reduce((part, key) => part?.[key], status);
      if (value !== undefined && value !== null) element.textContent = value;
    }
    const now = performance.now();
    if (before && status.requests >= before.requests) {
      rates.push((status.requests - before.requests) / (now - before.now) * 1000);
      if (rates.length > 60) rates.shift();
      const most = Math.max(1, ...rates);
      const points = rates.map((rate, index) =>
        `${(300 - (rates.length - 1 - index) * 300 / 59).toFixed(1)} ${(58 - rate / most * 54).toFixed(1)}`);
      if (points.length > 1) spark.setAttribute("d", "M" + points.join(" L"));
    }
    before = { requests: status.requests, now };
  };

  const ask = async () => {
    try {
      const response = await fetch(live.dataset.live, { headers: { Accept: "application/json" } });
      if (!response.ok) throw new Error(String(response.status));
      show(await response.json());
      live.className = "count on";
      text.textContent = "Live, as of " + new Date().toLocaleTimeString();
    } catch {
      live.className = "count lost";
      text.textContent = "The server does not answer.";
    }
  };
  ask();
  setInterval(() => { if (!document.hidden) ask(); }, 2000);
}
