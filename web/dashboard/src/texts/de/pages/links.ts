import type { Translated } from '../../catalogue';
import type { en } from '../../pages/links';

export const de: Translated<typeof en> = {
  chooseAPartner: 'Wählen Sie einen Partner.',
  address: 'Adresse',
  turnOff: '{code} ausschalten?',
  clicksOnThisLinkAreNot: 'Klicks auf diesen Link werden nicht gezählt, bis er wieder eingeschaltet wird.',
  isTurnedOn: '{code} ist eingeschaltet.',
  isTurnedOff: '{code} ist ausgeschaltet.',
  theCodeHasBeenChanged: 'Der Code wurde geändert.',
  noLinksYet: 'Noch keine Links',
  createOneForAnApprovedPartner: 'Erstellen Sie einen für einen freigegebenen Partner.',
  link: 'Link {code}',
  changeCodeOf: 'Code von {code} ändern',
  turnOnCode: '{code} einschalten',
  turnOffCode: '{code} ausschalten',
  changeTheCode: 'Code ändern',
  turnOn: 'Einschalten',
  linksWithTheOldCodeStop: 'Links mit dem alten Code funktionieren dann sofort nicht mehr.',
  theLinkHasBeenCreated: 'Der Link wurde erstellt.',
  eachBelongsToOnePartnerWho: 'Jeder gehört einem Partner, dem seine Klicks zugerechnet werden.',
  newReferralLink: 'Neuer Empfehlungslink',
  newLink: 'Neuer Link',
  partner: 'Partner {id}',
  createLink: 'Link erstellen',
  lettersDigitsAndLeaveItEmpty: 'Buchstaben, Ziffern, - und _. Leer lassen, um einen Code erzeugen zu lassen.',
  noPartnerIsApprovedYetApprove: 'Noch ist kein Partner freigegeben. Geben Sie zuerst einen frei.',
};
