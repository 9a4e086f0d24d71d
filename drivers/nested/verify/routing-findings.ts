import { Type } from 'typebox'
import { isFailure } from '#common/errors.ts'
import type { Cloud } from '../cloud/cloud.ts'
import { Id } from '../cloud/id.ts'
import { idsOf } from '../names.ts'
import { type Outside, Outsides } from '../routing/outside.ts'
import type { NestedSettings } from '../settings.ts'
import {
  addressClashes,
  type LocalExternalNetwork,
  type OtherOutside,
  type Ranges,
} from './address-clashes.ts'
import { type Finding, finding, warning } from './finding.ts'

/** What is outside of this cloud, and of the other clouds that are hosts of it. */
export interface OutsideHere {
  readonly networks: readonly LocalExternalNetwork[]
  readonly clouds: readonly OtherOutside[]
}

const Networks = Type.Object({
  networks: Type.Array(Type.Object({ id: Id, name: Type.String() })),
})
const Subnets = Type.Object({
  subnets: Type.Array(Type.Object({ network_id: Id, cidr: Type.String() })),
})

/** Whether the cloud has routers and a way out for floating IPs, and whether its addresses are also elsewhere. */
export function findRouting(
  cloud: Cloud,
  { externalNetworks, mappedNetworks }: NestedSettings,
  here: OutsideHere,
  signal: AbortSignal,
): Promise<Finding> {
  return finding('routers', async () => {
    const theirs = await outsides(cloud, externalNetworks, signal)
    if (typeof theirs === 'string')
      return warning(`${theirs} Floating IPs are refused for its servers.`)
    const tenants = await tenantNetworks(cloud, new Set(mappedNetworks.values()), signal)
    const { networks: ours, clouds: others } = here
    const clashes = addressClashes({ theirs, tenants, ours, others })
    if (clashes.length > 0) return warning(clashes.join(' '))
    return theirs
      .map(({ name, called, cidrs }) => {
        const is = name === called ? name : `${name} is ${called}`
        return `${is} (${cidrs.join(', ') || 'subnets not shown'})`
      })
      .join(', ')
  })
}

/** The external networks, or why there are none. */
async function outsides(
  cloud: Cloud,
  named: NestedSettings['externalNetworks'],
  signal: AbortSignal,
): Promise<readonly Outside[] | string> {
  try {
    return await new Outsides(cloud, named).list(signal)
  } catch (error) {
    if (isFailure(error, 'unsupported')) return error.message
    throw error
  }
}

/** Networks of guests that the project sees and that are no hosts' of ours. */
async function tenantNetworks(
  cloud: Cloud,
  mapped: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<readonly Ranges[]> {
  const inside = { query: { 'router:external': 'false' }, signal }
  const { networks } = (await cloud.ask(Networks, 'network', 'GET', '/networks', inside)).body
  const { subnets } = (await cloud.ask(Subnets, 'network', 'GET', '/subnets', { signal })).body
  const byNetwork = Map.groupBy(subnets, (subnet) => subnet.network_id)
  return networks
    .filter(({ id, name }) => idsOf([name]).length === 0 && !mapped.has(id) && !mapped.has(name))
    .map(({ id, name }) => ({ name, cidrs: (byNetwork.get(id) ?? []).map(({ cidr }) => cidr) }))
}
