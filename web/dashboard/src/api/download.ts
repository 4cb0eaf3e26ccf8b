import { request } from './client';
import type { Operations } from './operations';

/** Saves a response as a file. An incomplete response is not saved. */
export async function download<O extends keyof Operations>(
  operation: O,
  given: Parameters<typeof request<O>>[1],
  name: string,
): Promise<void> {
  const response = await request(operation, given);
  save(await response.blob(), name);
}

/** Saves what was answered as a file. */
export function saveJson(value: unknown, name: string) {
  save(new Blob([JSON.stringify(value, null, 2)], { type: 'application/json' }), name);
}

function save(blob: Blob, name: string) {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
