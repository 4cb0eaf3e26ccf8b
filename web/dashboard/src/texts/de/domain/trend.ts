import type { Translated } from '../../catalogue';
import type { en } from '../../domain/trend';

export const de: Translated<typeof en> = {
  isNew: 'neu',
  noneBefore: 'keine in den Tagen davor',
  more: '{amount} mehr als in den Tagen davor',
  less: '{amount} weniger als in den Tagen davor',
  same: 'so viel wie in den Tagen davor',
};
