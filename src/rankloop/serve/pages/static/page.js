// Scripts that make the page quicker to use; searching works without them.
import { compare } from "./compare.js";
import { events } from "./events.js";
import { files } from "./files.js";
import { following } from "./following.js";
import { judge } from "./judge.js";
import { keys } from "./keys.js";
import { order } from "./order.js";
import { ranges } from "./ranges.js";
import { refresh } from "./refresh.js";
import { search } from "./search.js";
import { why } from "./why.js";

const parts = [search, following, events, why, judge, keys, compare, files, order, ranges, refresh];
for (const start of parts) start();
