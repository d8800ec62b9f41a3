export function add(a, b) { return a - b; }
export function boom(x) { return x.a.b; }
export async function later() { await new Promise((r) => setTimeout(r, 5)); throw new RangeError("later went wrong"); }
export const parse = (t) => JSON.parse(t);
export default { add };
