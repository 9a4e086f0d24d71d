import type { Network } from '../../db/network.ts'

/** As hosts name the network of the site that it is on: `SITE`, or `SITE:7` for a VLAN, which is another network; null: none. */
export function segmentOf({
  physicalNetwork,
  vlanId,
}: Pick<Network, 'physicalNetwork' | 'vlanId'>): string | null {
  return physicalNetwork === null || vlanId === null || vlanId === 0
    ? physicalNetwork
    : `${physicalNetwork}:${vlanId}`
}
