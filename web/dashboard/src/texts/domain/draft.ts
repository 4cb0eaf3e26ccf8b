import { area } from '../catalogue';

export const en = {
  website: 'Website',
  whyWebsite: 'Referral links lead there.',
  commission: 'Commission',
  whyCommission: 'Without one, partners earn nothing.',
  approvedPartner: 'An approved partner',
  whyApprovedPartner: 'Only approved partners earn.',
  testClick: 'A test click',
  whyTestClick: 'It shows that the tracker is installed.',
  testLead: 'A test lead',
  whyTestLead: 'It shows that signups are reported.',
} as const;

export const texts = area(en, () => import('../de/domain/draft'));
