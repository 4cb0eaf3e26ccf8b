/** Ids that a tab keeps when it is reloaded; a new tab begins with the last ones of the browser. */
export function keptId(name: string): number | undefined {
  return Number(sessionStorage.getItem(name) ?? localStorage.getItem(name)) || undefined;
}

export function keepId(name: string, id: number | undefined) {
  for (const storage of [sessionStorage, localStorage]) {
    if (id === undefined) storage.removeItem(name);
    else storage.setItem(name, String(id));
  }
}
