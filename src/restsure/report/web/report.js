"use strict";
// A report: the story is in the page.
palette = JSON.parse(at("palette").textContent);
show(JSON.parse(at("story").textContent));
