import { Failure, isFailure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import type { Port } from '../../../db/network.ts'
import { portsOfServer } from '../../../db/ports.ts'
import { assertNetworksSpan, networkSpans, separationReason } from '../../cells/tunnels.ts'
import type { Compute } from '../../compute.ts'
import { networksReach } from '../../networks/cells-reaching.ts'
import type { Networks } from '../../networks/list-networks.ts'
import { showServerNics } from '../../networks/machine-nics.ts'
import type { NicPlan } from '../../networks/nic-request.ts'
import { planNics } from '../../networks/plan-nics.ts'
import { allocatePorts } from '../../networks/server-ports.ts'
import type { RequestContext } from '../../request-context.ts'
import { refuseAction } from '../acts/refuse-action.ts'
import { placedServer } from '../boot/placed-server.ts'
import type { ServerRecord } from '../list/server-record.ts'
import { changeNic } from './change-nic.ts'
import { serverInterface } from './server-interfaces.ts'

/** A NIC to attach: on this port, on a new port of this network, or on the only network there is. */
export interface WantedInterface {
  readonly networkId: string | undefined
  readonly portId: string | undefined
  readonly fixedIp: string | undefined
  readonly tag: string | undefined
}

/** What attaching works with. */
export interface AttachDeps {
  readonly compute: Compute
  readonly networks: Networks
}

/**
 * Afterwards the guest has the NIC, and the server its port. Throws `not-found` for server, port or network;
 * `invalid` for what cannot be had; `conflict` for a port or address in use, or in a state that forbids it;
 * `unavailable` while its cell is unreachable; `unsupported` for what its host cannot do.
 */
export async function attachInterface(
  { compute, networks }: AttachDeps,
  context: RequestContext,
  id: string,
  wanted: WantedInterface,
): Promise<Port> {
  const { db } = compute
  const { server, cell } = await placedServer(compute, context, id, (record) =>
    refuseAction(record, context, 'attach-interface'),
  )
  const plan = await planned(networks, server, wanted)
  const on = plan.nics.map(({ network }) => network)
  if (!networksReach(on, cell.id))
    throw new Failure('invalid', `The network does not reach cell ${cell.name} of instance ${id}.`)
  const cells = compute.cells.cells()
  const apart = separationReason(await networkSpans(db, cells, on), cell)
  if (apart !== undefined)
    throw new Failure('invalid', `Instance ${id} is in cell ${cell.name}, which ${apart}.`)
  const before = await portsOfServer(db, server.id)
  const nicsBefore = Math.max(-1, ...before.map(({ nicIndex }) => nicIndex)) + 1
  const portId = plan.nics[0]?.kind === 'existing' ? plan.nics[0].port.id : newId<string>()
  const now = new Date(compute.clock.now())
  const place = { serverId: server.id, zone: server.zone ?? '', nicsBefore, now, portId }
  await changeNic(compute, context, {
    server,
    cell,
    action: 'attach-interface',
    portId,
    before: async (tx) => {
      await assertNetworksSpan(tx, cells, on, [cell.id])
      await allocatePorts(tx, place, plan)
      await showServerNics(tx, server.id)
    },
  })
  return serverInterface(db, context, id, portId)
}

async function planned(
  networks: Networks,
  server: ServerRecord,
  { networkId, portId, fixedIp, tag }: WantedInterface,
): Promise<NicPlan> {
  if (networkId !== undefined && portId !== undefined)
    throw new Failure('invalid', 'Must not input both network_id and port_id')
  if (fixedIp !== undefined && networkId === undefined)
    throw new Failure('invalid', 'Must input network_id when request IP address')
  const isNamed = networkId !== undefined || portId !== undefined
  const nic = {
    ...(networkId === undefined ? {} : { networkId }),
    ...(portId === undefined ? {} : { portId }),
    ...(fixedIp === undefined ? {} : { fixedIp }),
    ...(tag === undefined ? {} : { tag }),
  }
  // The port belongs to the server's project, not to the requester's.
  const owner = { projectId: server.projectId, isAdmin: false }
  const request = { networks: isNamed ? [nic] : undefined, securityGroups: [], serversMax: 1 }
  const plan = await planNics(networks, owner, request).catch((error: unknown) => {
    throw asAttaching(error, isNamed)
  })
  if (plan.nics.length === 0)
    throw new Failure(
      'invalid',
      `No specific network was requested and none are available for project '${server.projectId}'.`,
    )
  return plan
}

/** Of the same failures a boot answers others: what a path or body names is looked for, and not found. */
function asAttaching(error: unknown, isNamed: boolean): unknown {
  if (!isFailure(error)) return error
  const { message } = error
  if (error.kind === 'invalid' && message.endsWith('could not be found.'))
    return new Failure('not-found', message, { cause: error })
  // Nova: NetworkAmbiguous is a bad request here.
  if (error.kind === 'conflict' && !isNamed)
    return new Failure('invalid', message, { cause: error })
  return error
}

/**
 * Afterwards the guest loses the NIC. Throws `not-found`, also for a port that is not the server's; `conflict` in a
 * state that forbids it; `unavailable` while its cell is unreachable; `unsupported` for what its host cannot do.
 */
export async function detachInterface(
  compute: Compute,
  context: RequestContext,
  id: string,
  portId: string,
): Promise<void> {
  await serverInterface(compute.db, context, id, portId)
  const { server, cell } = await placedServer(compute, context, id, (record) =>
    refuseAction(record, context, 'detach-interface'),
  )
  await changeNic(compute, context, { server, cell, action: 'detach-interface', portId })
}
