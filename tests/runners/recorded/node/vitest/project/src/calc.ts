export interface Thing {
  a: number;
  b: string;
}
export function add(a: number, b: number): number {
  return a - b;
}
export function boom(x: Thing | null): number {
  return (x as any).a.b.c;
}
export async function later(): Promise<number> {
  await new Promise((r) => setTimeout(r, 5));
  throw new RangeError("later went wrong");
}
export function parse(t: string): unknown { return JSON.parse(t); }
