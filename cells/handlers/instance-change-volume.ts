import type { WorkContext } from '#common/context.ts'
import type { Executor } from '#common/db/database.ts'
import { type ErrorKind, Failure } from '#common/errors.ts'
import { type HostId, type InstanceId, newId, type VolumeId } from '#common/ids.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { WireAttachment } from '#openapi/wire/volume.ts'
import type { Cell } from '../cell.ts'
import { type HostOutcome, type HostWork, reasonOf, workOnHost } from '../conductor/ask-host.ts'
import type { Conductor } from '../conductor/conductor.ts'
import type { Instance } from '../conductor/instance.ts'
import { findInstance } from '../db/instances.ts'
import { newestMigration } from '../db/server-migrations.ts'
import { hostsOfStore } from '../db/stores.ts'
import { findVolume } from '../db/volumes.ts'

type Ask = CellAsk<'instance.change-volume'>

/**
 * Afterwards the guest has the volume, now and at every start, or does not have it. Throws `conflict` while something
 * else is done to the guest, where its host does not reach the volume's store, and when the guest does not release the
 * volume; what the host throws, it has not done, unless that is `unavailable`.
 */
export async function instanceChangeVolume(
  { conductor }: Cell,
  ask: Ask,
  work: WorkContext,
): Promise<CellAnswer<'instance.change-volume'>> {
  const instance = await placedInstance(conductor, ask)
  const host = instance.placed!.hostId
  const { operation } = ask
  const isWanted = async () =>
    (await findInstance(conductor.db, instance.id))?.attempt === operation.attempt
  const common = { host, work, signal: AbortSignal.timeout(WORK_MS), isWanted }
  if (ask.detach !== undefined) {
    const payload = { operation, attachmentId: ask.detach }
    const asked = { ...common, operation: 'volume-detach', payload } as const
    return deviceIn(await workOnHost(conductor, asked))
  }
  const attachment = await attachmentOf(conductor, ask, host).catch(async (error: unknown) => {
    if (ask.attach !== undefined) await takeBack(conductor, common, operation, ask.attach.id)
    throw error
  })
  const payload = { operation, attachment }
  return deviceIn(await workOnHost(conductor, { ...common, operation: 'volume-attach', payload }))
}

/**
 * Afterwards the guest does not have a volume that it is refused: it may have got it when the same was asked for before,
 * and the answer was lost. Throws `unavailable` while the guest keeps it.
 */
async function takeBack(
  conductor: Conductor,
  on: Pick<HostWork<'volume-detach'>, 'host' | 'work' | 'signal' | 'isWanted'>,
  { serverId, attempt }: Ask['operation'],
  attachmentId: string,
): Promise<void> {
  const operation = { id: newId<string>(), serverId, attempt }
  const payload = { operation, attachmentId }
  const outcome = await workOnHost(conductor, { ...on, operation: 'volume-detach', payload })
  if (outcome.state !== 'failed' || NEVER_HAD.has(outcome.kind)) return
  throw new Failure('unavailable', outcome.message)
}

/** How a host fails whose driver knows no volumes, or that has no such guest. */
const NEVER_HAD: ReadonlySet<ErrorKind> = new Set(['unsupported', 'not-found'])

/** A gateway waits less long, and asks again. */
const WORK_MS = 30_000

/** Throws `not-found`, and `conflict` for an instance that is being changed or is between two hosts. */
export async function placedInstance(
  { db }: Conductor,
  { operation }: Pick<Ask, 'operation'>,
): Promise<Instance> {
  const instance = await findInstance(db, operation.serverId as InstanceId)
  if (instance === undefined || instance.attempt !== operation.attempt)
    throw new Failure('not-found', `Instance ${operation.serverId} could not be found.`)
  if (instance.sagaId !== null || instance.placed === null)
    throw new Failure('conflict', `Instance ${instance.id} is being changed.`)
  await refuseBetweenHosts(db, instance)
  return instance
}

/** Until a move is confirmed the former host keeps the guest with the volumes that it had, and a revert starts it with these. */
async function refuseBetweenHosts(db: Executor, { id, vmState }: Instance): Promise<void> {
  if (vmState !== 'resized') return
  const migration = await newestMigration(db, id)
  if (migration === undefined || migration.sourceHost === migration.destHost) return
  throw new Failure(
    'conflict',
    `Instance ${id} was moved from host ${migration.sourceHost} to ${migration.destHost}: confirm or revert that before its volumes are changed.`,
  )
}

/** Throws `not-found`; `conflict` for a volume that is not available or whose store the host does not reach. */
export async function attachmentOf(
  { db, hosts }: Conductor,
  { attach }: Pick<Ask, 'attach'>,
  host: HostId,
): Promise<WireAttachment> {
  if (attach === undefined) throw new Failure('invalid', 'Nothing is to be attached or detached.')
  const { volumeAttempt, ...how } = attach
  const volume = await findVolume(db, attach.volumeId as VolumeId)
  if (volume === undefined || volume.attempt !== volumeAttempt)
    throw new Failure('not-found', `Volume ${attach.volumeId} is not in this cell.`)
  if (volume.state !== 'available')
    throw new Failure('conflict', `Volume ${volume.id} is ${volume.state}.`)
  if (!(await hostsOfStore(db, volume.storeId)).includes(host))
    throw new Failure(
      'conflict',
      `Host ${hosts.get(host)?.name ?? host} does not reach the store ${volume.storeName} of volume ${volume.id}.`,
    )
  return { ...how, store: volume.storeId }
}

function deviceIn(outcome: HostOutcome): { device: string | null } {
  switch (outcome.state) {
    case 'done':
      return { device: outcome.device ?? null }
    case 'failed':
      throw new Failure(outcome.kind, outcome.message, {
        ...(outcome.detail !== undefined && { detail: outcome.detail }),
      })
    case 'unwanted':
      throw new Failure('conflict', 'The server was deleted or moved meanwhile.')
    case 'stale':
    case 'fenced':
      throw new Failure('conflict', reasonOf(outcome))
  }
}
