/** The shop's address of each program, as the partner has given it; this browser keeps it. */
const nameOf = (program: number) => `shop-${program}`;

export function shopOf(program: number): string {
  return localStorage.getItem(nameOf(program)) ?? '';
}

export function keepShop(program: number, address: string) {
  if (address) localStorage.setItem(nameOf(program), address);
  else localStorage.removeItem(nameOf(program));
}
