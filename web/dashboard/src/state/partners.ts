/** A program's partners, of however many: the service searches them. */
import { call } from '../api/client';
import { say } from '../texts/catalogue';
import { texts } from '../texts/parts';

const LONGEST_SEARCH = 120;

/** By name, or by id if the record is deleted. */
export const partnerName = (name: string | null | undefined, id: number | string): string => name ?? say(texts.formerPartnerWithId, { id });

/** The first of those with a text in their name or address, and how many they are. */
export async function findPartners(program: number, text: string, most: number, status?: string) {
  const { data, meta } = await call('GET /api/advertiser/affiliate-programs/{program_id}/partners', {
    path: { program_id: program },
    query: { search: text.slice(0, LONGEST_SEARCH), pageSize: most, ...(status ? { status } : {}) },
  });
  const rows = data.map(({ id, name, email }) => ({ id, text: partnerName(name, id), about: email ?? undefined }));
  return { rows, total: meta.pagination.total };
}
