import type { Requester } from '../requester.ts'
import type { NicsPlan, ServerNetwork } from '../servers/server-network.ts'
import { nicsReach } from './cells-reaching.ts'
import type { Networks } from './networks.ts'
import type { NicRequest } from './nic-request.ts'
import { nicSpecs, serverAddresses } from './nic-views.ts'
import { planNics } from './plan-nics.ts'
import { allocatePorts, releasePorts, serverNics } from './server-ports.ts'

/** The NICs of the servers of one request, decided; failures as of `planNics`. */
export async function serverNicsPlan(
  networks: Networks,
  requester: Requester,
  request: NicRequest,
): Promise<NicsPlan> {
  const plan = await planNics(networks, requester, request)
  return {
    reaches: (cellId) => nicsReach(plan.nics, cellId),
    securityGroups: plan.securityGroups.map(({ name }) => name),
    allocate: async (tx, serverId, zone) => {
      const now = new Date(networks.clock.now())
      const nics = await allocatePorts(tx, { serverId, zone: zone ?? '', now }, plan)
      return { nics: [...nicSpecs(nics)], addresses: serverAddresses(nics) }
    },
  }
}

/** What servers that exist ask of the network service. */
export function serverNetwork(networks: Networks): ServerNetwork {
  return {
    reachOf: async (db, serverId) => {
      const nics = await serverNics(db, serverId)
      return (cellId) => nicsReach(nics, cellId)
    },
    release: (tx, serverId) => releasePorts(tx, serverId, new Date(networks.clock.now())),
  }
}
