// The page's script under node: reads {data, asked: [state of each column, …]} and prints the probabilities of each.
"use strict";
const fs = require("fs");
const script = fs.readFileSync(process.argv[2], "utf8");
const given = JSON.parse(fs.readFileSync(0, "utf8"));
function answer(asked) {
  const made = {};
  const element = function () {
    return { style: {}, dataset: {}, textContent: "", addEventListener: function () {}, setAttribute: function () {} };
  };
  const document = {
    getElementById: function (id) {
      if (/^w\d+/.test(id)) return null; // no controls: the state alone is asked about
      if (!made[id]) made[id] = element();
      if (id === "whatif-data") made[id].textContent = JSON.stringify(given.data);
      return made[id];
    },
  };
  const window = { addEventListener: function () {}, location: { hash: "#whatif=" + encodeURIComponent(JSON.stringify(asked)) } };
  new Function("document", "window", script)(document, window);
  return given.data.classes.map(function (_, k) { return Number(made["whatif-p-" + k].textContent); });
}
console.log(JSON.stringify(given.asked.map(answer)));
