import type { Translated } from '../../catalogue';
import type { en } from '../../domain/draft';

export const de: Translated<typeof en> = {
  website: 'Website',
  whyWebsite: 'Dorthin führen die Empfehlungslinks.',
  commission: 'Provision',
  whyCommission: 'Ohne sie verdienen Partner nichts.',
  approvedPartner: 'Ein freigegebener Partner',
  whyApprovedPartner: 'Nur freigegebene Partner verdienen.',
  testClick: 'Ein Testklick',
  whyTestClick: 'Er zeigt, dass der Tracker eingebaut ist.',
  testLead: 'Ein Test-Lead',
  whyTestLead: 'Er zeigt, dass Registrierungen gemeldet werden.',
};
