import type { WorkContext } from '#common/context.ts'
import type { Tx } from '#common/db/database.ts'
import { newId, type SagaId } from '#common/ids.ts'
import type { SagaRun } from '#common/saga/engine.ts'
import { takeIdempotencyKey } from '../../../db/idempotency-keys.ts'
import { queueMappings } from '../../../db/instance-mappings.ts'
import { queueRequestSpecs, type RequestSpec } from '../../../db/request-specs.ts'
import { queueActionEvents, queueActions } from '../../../db/server-actions.ts'
import { queueServers } from '../../../db/server-index.ts'
import { queueTraces } from '../../../db/traces.ts'
import { assertNetworksSpan } from '../../cells/tunnels.ts'
import type { Compute } from '../../compute.ts'
import { assertKept } from '../../placement-policies/placement-promise.ts'
import { chargeQuota, NotCharged, queueQuotaCharge } from '../../quotas/charge-quota.ts'
import type { QuotaDeltas } from '../../quotas/resources.ts'
import { type SealedPart, sealingPurpose } from '../../sagas/build-request.ts'
import { operationIds } from '../../sagas/build-rounds.ts'
import { type CreateServerParams, createServerSaga } from '../../sagas/create-server.ts'
import { joinServerGroup, NotJoined, queueJoin } from '../../server-groups/members.ts'
import { type PlannedServer, type ServerOrder, serverIds } from '../list/server-order.ts'
import { failedChoice } from './faults.ts'
import { HeldRoom } from './held-room.ts'
import type { NewServer } from './new-server.ts'
import { chargeNewVolumes, recordVolumes } from './record-volumes.ts'
import { requestedProperties } from './requested-properties.ts'
import type { ServerNics } from './server-network.ts'

interface Begun {
  readonly planned: PlannedServer
  readonly sagaId: SagaId
}

/**
 * Afterwards the servers are reserved: one commit holds all that is known of them, the first step of their building,
 * and the quota they take. Throws `over-quota`, or `conflict` when an address, port or idempotency key was taken
 * meanwhile; then nothing is kept. `room`: what was taken with the choices of the servers' cells.
 */
export async function startServers(
  compute: Compute,
  work: WorkContext,
  order: ServerOrder,
  room = new HeldRoom(compute),
): Promise<readonly SagaRun[]> {
  const begun = order.servers.map((planned) => ({ planned, sagaId: newId<SagaId>() }))
  const forget = (serverId: string) => compute.specCache.drop(serverId)
  const start = (way: Way) => begin(compute, work, { order, begun, way })
  // A promise is kept by counting after the charge.
  const runs = await start(order.promise === null ? QUICK : THOROUGH)
    .catch((error: unknown) => {
      const isRefusal = error instanceof NotCharged || error instanceof NotJoined
      if (isRefusal || order.nics.quick?.isRefusal(error) === true) return start(THOROUGH)
      throw error
    })
    .catch((error: unknown) => {
      serverIds(order).forEach(forget)
      throw error
    })
  const placed = order.servers.filter(({ row }) => row.cellId !== null)
  room.asked(placed.map(({ row }) => row.id))
  for (const [index, { row }] of order.servers.entries())
    void runs[index]!.finished.finally(() => {
      forget(row.id)
      compute.cells.answered(row.id)
    })
  return runs
}

type Group = NonNullable<ServerOrder['group']>
type Joiners = Parameters<typeof queueJoin>[2]

/** How NICs are made, a group is joined, and the quota charged. */
interface Way {
  nics(tx: Tx, order: ServerOrder, row: PlannedServer['row']): Promise<ServerNics> | ServerNics
  join(tx: Tx, group: Group, joiners: Joiners): Promise<void> | void
  /** Runs last. */
  charge(tx: Tx, order: ServerOrder): Promise<void> | void
}

/** Without an answer before the commit; anything unusual ends the transaction. */
const QUICK: Way = {
  nics: (tx, order, row) =>
    order.nics.quick?.place(tx, row.id, row.requestedZone) ?? THOROUGH.nics(tx, order, row),
  join: queueJoin,
  charge: (tx, order) => {
    order.nics.quick?.charge(tx, order.servers.length)
    queueQuotaCharge(tx, order.servers[0]!.row, quotaDeltas(order))
  },
}

/** Reads the rows concerned first, so that its failures name the port, group or quota that is in the way. */
const THOROUGH: Way = {
  nics: (tx, order, row) => order.nics.allocate(tx, row.id, row.requestedZone),
  join: (tx, { id: groupId }, joiners) => joinServerGroup(tx, { groupId, ...joiners }),
  charge: (tx, order) => chargeQuota(tx, order.servers[0]!.row, quotaDeltas(order)),
}

interface Beginning {
  readonly order: ServerOrder
  readonly begun: readonly Begun[]
  readonly way: Way
}

function begin(
  compute: Compute,
  work: WorkContext,
  beginning: Beginning,
): Promise<readonly SagaRun[]> {
  const { order, begun, way } = beginning
  return compute.sagas.startTogether(
    createServerSaga,
    begun.map(({ planned, sagaId }) => ({
      id: sagaId,
      subject: planned.row.id,
      params: paramsOf(planned),
      work,
    })),
    {
      before: (tx) => record(tx, compute, work, beginning),
      after: async (tx) => {
        await way.charge(tx, order)
        await chargeNewVolumes(tx, order.servers)
        if (order.promise !== null)
          await assertKept(
            tx,
            order.promise,
            order.servers.map(({ row }) => row.cellId),
          )
      },
    },
  )
}

function paramsOf({ row, volumes }: PlannedServer): CreateServerParams {
  const { id: serverId, cellId, attempt } = row
  const made = volumes.filter(({ described }) => described !== undefined)
  const newVolumes = made.map(({ volumeId }) => ({ volumeId, operationId: newId<string>() }))
  return {
    ...{ serverId, cellId, attempt, operationIds: operationIds() },
    ...(volumes.length > 0 && { hasVolumes: true }),
    ...(made.length > 0 && { newVolumes }),
  }
}

async function record(
  tx: Tx,
  compute: Compute,
  work: WorkContext,
  { order, begun, way }: Beginning,
): Promise<void> {
  const reservationId = order.servers[0]!.row.reservationId
  if (order.key !== null)
    await takeIdempotencyKey(tx, order.key, { serverIds: serverIds(order), reservationId })
  queueMappings(tx, begun.map(mappingOf))
  // Before quotas: deletes of servers lock the group first, too.
  await joinGroup(tx, work, order, way)
  const cellIds = order.servers.map(({ row }) => row.cellId)
  await assertNetworksSpan(tx, compute.cells.cells(), order.nics.networks, cellIds)
  const rows: NewServer[] = []
  const specs: RequestSpec[] = []
  for (const { row, spec } of order.servers) {
    const { nics, addresses } = await way.nics(tx, order, row)
    rows.push({ ...row, addresses, requested: requestedProperties(spec, order.hints) })
    specs.push(sealed(compute, order, row.id, { ...spec, nics }))
  }
  queueServers(tx, rows)
  for (const { planned, sagaId } of begun) await recordVolumes(tx, planned, sagaId)
  queueRequestSpecs(tx, specs)
  for (const spec of specs) compute.specCache.keep(spec)
  queueActions(
    tx,
    rows.map((row) => createAction(row, work)),
  )
  queueActionEvents(
    tx,
    null,
    rows.flatMap(({ id: serverId, fault }) =>
      fault === null ? [] : [failedChoice({ serverId, requestId: work.requestId }, fault)],
    ),
  )
  queueTraces(
    tx,
    order.servers.map(({ row, trace }) => ({ serverId: row.id, attempt: row.attempt, trace })),
  )
}

async function joinGroup(
  tx: Tx,
  { requestId }: WorkContext,
  { group, servers }: ServerOrder,
  way: Way,
): Promise<void> {
  const [first] = servers
  if (group === null || first === undefined) return
  const joining = servers.map(({ row: { id, cellId } }) => ({ id, cellId }))
  const { userId } = first.row
  await way.join(tx, group, { userId, requestId, servers: joining })
}

function mappingOf({ planned: { row }, sagaId }: Begun) {
  return {
    serverId: row.id,
    projectId: row.projectId,
    cores: row.flavor.vcpus,
    ramMb: row.flavor.memoryMb,
    cellId: row.cellId,
    attempt: row.attempt,
    // No saga has anything left to do for a server that is in ERROR from the start.
    sagaId: row.cellId === null ? null : sagaId,
  }
}

function sealed(
  { secrets }: Compute,
  { userData, files, adminPassword }: ServerOrder,
  serverId: string,
  spec: RequestSpec['spec'],
): RequestSpec {
  const seal = (text: string | null, what: SealedPart) =>
    text === null ? null : secrets.seal(text, sealingPurpose(serverId, what))
  return {
    serverId,
    spec,
    sealedUserData: seal(userData, 'user-data'),
    sealedFiles: seal(files.length === 0 ? null : JSON.stringify(files), 'files'),
    sealedPassword: seal(adminPassword, 'password'),
  }
}

function createAction(row: NewServer, work: WorkContext) {
  const { id: serverId, projectId, userId } = row
  const { requestId } = work
  return { serverId, projectId, userId, requestId, action: 'create', message: null }
}

function quotaDeltas({ servers }: ServerOrder): QuotaDeltas {
  const sum = (of: (flavor: NewServer['flavor']) => number) =>
    servers.reduce((total, { row }) => total + of(row.flavor), 0)
  return {
    instances: servers.length,
    cores: sum(({ vcpus }) => vcpus),
    ram: sum(({ memoryMb }) => memoryMb),
  }
}
