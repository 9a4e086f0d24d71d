import { dhcpRows } from './dhcp.ts'
import { hostGroupRows } from './host-groups.ts'
import { loadBalancerRows } from './load-balancers.ts'
import { type CellNetworks, indexNetworks, type OvnHost } from './network-index.ts'
import { routerRows } from './routers.ts'
import type { WantedRow } from './rows.ts'
import { securityGroupRows } from './security-groups.ts'
import { switchRows } from './switches.ts'

/**
 * The rows that the northbound database of a cell must hold for this state, in the mapping of Neutron's ML2/OVN driver.
 * Objects that refer to missing ones are left out until these exist.
 */
export function wantedRows(state: CellNetworks, hosts: readonly OvnHost[]): readonly WantedRow[] {
  const index = indexNetworks(state, hosts)
  return [
    ...dhcpRows(index),
    ...switchRows(index),
    ...hostGroupRows(index),
    ...securityGroupRows(index),
    ...loadBalancerRows(index),
    ...routerRows(index),
  ]
}
