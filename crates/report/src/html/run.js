"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const plots = [...document.querySelectorAll(".plot")];

  const grouped = (v) => Math.round(v).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f");
  const digits = (v) => v >= 999.5 ? grouped(v) : v.toFixed(v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2);
  const duration = (ns) => {
    if (ns < 1e3) return `${ns} ns`;
    if (ns < 999500) return `${digits(ns / 1e3)} µs`;
    if (ns < 999.5e6) return `${digits(ns / 1e6)} ms`;
    return ns < 120e9 ? `${digits(ns / 1e9)} s` : `${digits(ns / 60e9)} min`;
  };
  const units = {
    "ns": duration,
    "/s": (v) => `${digits(v)}/s`,
    "MiB": (v) => `${digits(v)} MiB`,
    "cores": (v) => `${digits(v * 100)} %`,
  };

  // The last place in a sorted list that is not beyond the value.
  const place = (list, value) => {
    let low = 0, high = list.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (list[middle] <= value) low = middle; else high = middle - 1;
    }
    return low;
  };

  const groups = {
    time(group, share) {
      const { from, to } = group;
      const i = place(from, share * to[to.length - 1]);
      return { i, text: `${from[i]}–${to[i]} s` };
    },
    quantile(group, share) {
      const beyond = 100 / Math.pow(group.beyond, share);
      const nines = Math.max(0, Math.ceil(1 - Math.log10(beyond)));
      return { i: null, text: `${(100 - beyond).toFixed(nines)} %` };
    },
  };

  const show = (name, share) => {
    for (const plot of plots.filter((p) => p.dataset.group === name)) {
      const { i, text } = groups[name](data.groups[name], share);
      const readout = plot.closest("figure").querySelector(".readout");
      const cursor = plot.querySelector(".cursor");
      cursor.hidden = false;
      cursor.style.left = `${share * 100}%`;
      readout.replaceChildren(Object.assign(document.createElement("b"), { textContent: text }));
      for (const line of data.charts[plot.dataset.chart]) {
        const value = line.v[i ?? place(line.x, share)];
        const words = value === null || value === undefined ? "–" : units[line.unit](value);
        readout.append(` · ${line.name} ${words}`);
      }
    }
  };

  const hide = (name) => {
    for (const plot of plots.filter((p) => p.dataset.group === name)) {
      plot.querySelector(".cursor").hidden = true;
      plot.closest("figure").querySelector(".readout").replaceChildren();
    }
  };

  for (const plot of plots) {
    const name = plot.dataset.group;
    let share = 0;
    const move = (to) => { share = Math.min(1, Math.max(0, to)); show(name, share); };
    plot.tabIndex = 0;
    plot.addEventListener("pointermove", (event) => {
      const box = plot.getBoundingClientRect();
      move((event.clientX - box.left) / box.width);
    });
    plot.addEventListener("pointerleave", () => hide(name));
    plot.addEventListener("blur", () => hide(name));
    plot.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -0.01, ArrowRight: 0.01 }[event.key];
      if (step) { event.preventDefault(); move(share + step); }
    });
  }
})();
