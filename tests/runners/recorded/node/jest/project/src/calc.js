exports.add = function add(a, b) { return a - b; };
exports.boom = function boom(x) { return x.a.b; };
exports.later = async function later() { await new Promise((r) => setTimeout(r, 5)); throw new RangeError("later went wrong"); };
exports.parse = (t) => JSON.parse(t);
class Odd extends TypeError {}
exports.odd = () => { const e = new Odd("odd"); throw e; };
