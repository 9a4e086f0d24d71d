import { isDuplicate, isMissing } from '#common/db/failures.ts'
import type { Network } from '../../../db/network.ts'
import { findNetworks } from '../../../db/networks.ts'
import { networkIdsOfServer } from '../../../db/ports.ts'
import { findSecurityGroups } from '../../../db/security-groups.ts'
import { bindPortToHost, queuePortBindings } from '../../../db/server-ports.ts'
import type { Networks } from '../../networks/list-networks.ts'
import { showMachineNics } from '../../networks/machine-nics.ts'
import type { NicPlan, NicRequest, ServerNic } from '../../networks/nic-request.ts'
import { nicSpecs, serverAddresses } from '../../networks/nic-views.ts'
import { planNics } from '../../networks/plan-nics.ts'
import { NotPlaced, quickNics } from '../../networks/quick-nics.ts'
import { releasePort } from '../../networks/release-port.ts'
import { allocatePorts, releasePorts, serverNics } from '../../networks/server-ports.ts'
import type { Requester } from '../../requester.ts'
import type { NicsPlan, QuickNicsPlan, ServerNetwork, ServerNics } from './server-network.ts'

/** The network service of this gateway, as servers need it. */
export function embeddedNetwork(networks: Networks): ServerNetwork {
  return {
    networksOf: async (db, serverId) => findNetworks(db, await networkIdsOfServer(db, serverId)),
    bind: async (tx, cellId, views) => {
      queuePortBindings(tx, cellId, views)
      await showMachineNics(tx, cellId, views)
    },
    nicsOf: async (db, serverId) => nicSpecs(await serverNics(db, serverId)),
    nicOf: async (tx, serverId, portId) => {
      const nics = await serverNics(tx, serverId)
      return nicSpecs(nics.filter(({ port }) => port.id === portId))[0]
    },
    bindNic: bindPortToHost,
    releaseNic: (tx, serverId, portId) =>
      releasePort(tx, serverId, portId, new Date(networks.clock.now())),
    release: (tx, serverIds) => releasePorts(tx, serverIds, new Date(networks.clock.now())),
  }
}

/** The NICs of a request's servers. Throws what Nova would for networks, ports and groups that cannot be had. */
export async function planEmbeddedNics(
  networks: Networks,
  requester: Requester,
  request: NicRequest,
): Promise<NicsPlan> {
  const plan = await planNics(networks, requester, request)
  return {
    networks: networksOfNics(plan.nics),
    securityGroups: plan.securityGroups.map(({ name }) => name),
    needsFirewall: await needsFirewall(networks, plan),
    allocate: async (tx, serverId, zone) => {
      // Where it did not go without a look, the next keys may be other ports'.
      for (const { network } of plan.nics) networks.portKeys.jump(network.id)
      return serverNicsOf(await allocatePorts(tx, serverForPorts(networks, serverId, zone), plan))
    },
    quick: await quickPlan(networks, plan, request.serversMax),
  }
}

function networksOfNics(nics: readonly { readonly network: Network }[]): readonly Network[] {
  return [...new Map(nics.map(({ network }) => [network.id, network])).values()]
}

async function quickPlan(
  networks: Networks,
  plan: NicPlan,
  servers: number,
): Promise<QuickNicsPlan | undefined> {
  const quick = await quickNics(networks, plan, servers)
  return (
    quick && {
      place: (tx, serverId, zone) =>
        serverNicsOf(quick.place(tx, serverForPorts(networks, serverId, zone))),
      charge: (tx, count) => quick.charge(tx, count),
      isRefusal: (error) => error instanceof NotPlaced || isDuplicate(error) || isMissing(error),
    }
  )
}

function serverForPorts({ clock }: Networks, serverId: string, zone: string | null) {
  return { serverId, zone: zone ?? '', nicsBefore: 0, now: new Date(clock.now()) }
}

function serverNicsOf(nics: readonly ServerNic[]): ServerNics {
  return { nics: [...nicSpecs(nics)], addresses: serverAddresses(nics) }
}

/** Every server has the default group, whether it wants it or not: only another one says that someone counts on groups. */
async function needsFirewall(
  { db }: Networks,
  { nics, securityGroups }: NicPlan,
): Promise<boolean> {
  const isOther = ({ name }: { readonly name: string }) => name !== 'default'
  if (nics.some(({ kind }) => kind === 'new') && securityGroups.some(isOther)) return true
  const ofPorts = nics.flatMap((nic) => (nic.kind === 'existing' ? nic.port.securityGroupIds : []))
  return ofPorts.length > 0 && (await findSecurityGroups(db, ofPorts)).some(isOther)
}
