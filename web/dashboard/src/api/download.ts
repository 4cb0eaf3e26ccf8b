import { request } from './client';
import type { Operations } from './operations';

/** Saves an answer as a file. An answer that breaks off is saved nowhere: it would not be the whole file. */
export async function download<O extends keyof Operations>(
  operation: O,
  given: Parameters<typeof request<O>>[1],
  name: string,
): Promise<void> {
  const response = await request(operation, given);
  const url = URL.createObjectURL(await response.blob());
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
