/** Display texts of audit log entries. */
import { label } from './words';

/** `api_key.revoked` as `Api key revoked`. */
export const actionText = (action: string): string => label(action.replaceAll('.', ' '));

/** What changed to what: `Hold days: 15 → 30`. */
export function detailsText(details: Record<string, unknown>): string {
  return Object.entries(details)
    .map(([name, value]) => `${label(name)}: ${isChange(value) ? `${plain(value.before)} → ${plain(value.after)}` : plain(value)}`)
    .join('; ');
}

function isChange(value: unknown): value is { before: unknown; after: unknown } {
  return typeof value === 'object' && value !== null && 'before' in value && 'after' in value;
}

function plain(value: unknown): string {
  if (value === null || value === undefined || value === '') return 'none';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
