import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import type { Transactional } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { type AttachmentId, newId, type SagaId, type VolumeId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { SagaEngine } from '#common/saga/engine.ts'
import { CrashingDatabase, trialsOf } from '#common/saga/testing.ts'
import { waitFor } from '#common/wait-for.ts'
import type { ComputeDeps } from '#gateway/app/compute.ts'
import type { RunningCompute } from '#gateway/app/open-compute.ts'
import { type SwapVolumeParams, swapVolumeSaga } from '#gateway/app/sagas/swap-volume.ts'
import { startServers } from '#gateway/app/servers/boot/start-servers.ts'
import { chargeVolumes } from '#gateway/app/volumes/quotas.ts'
import { queueHeldStatus } from '#gateway/db/held-volumes.ts'
import { findMapping } from '#gateway/db/instance-mappings.ts'
import {
  attachmentsOfServers,
  queueAttached,
  queueAttachment,
} from '#gateway/db/volume-attachments.ts'
import { volumeQuotaRows } from '#gateway/db/volume-quotas.ts'
import { findVolume, insertVolume } from '#gateway/db/volumes.ts'
import type { CellAsk } from '#openapi/wire/cell.ts'
import { CoreEnv, orderFor, work } from '../env/compute-core.ts'

// The standard trials of the saga that swaps a volume, and its death at every transaction: the server has the one volume or the other,
// which the host knows as well, the other one is free, and nothing was charged.

const log = createLogger('trial', 'silent')
let env: CoreEnv
let core: RunningCompute
/** What the cell was asked, and the volume that the guest has; undefined: the one from before. */
let asked: CellAsk<'instance.swap-volume'>['step'][]
let guest: string | undefined

beforeAll(async () => {
  env = await CoreEnv.open('volume_swap', ['north'])
  core = await env.core()
  await env.untilResynced(core)
  env.cells[0]!.overrides = {
    'instance.swap-volume': ({ step, to }) => {
      asked.push(step)
      if (step === 'pivot') guest = to.volumeId
      return {}
    },
  }
})
beforeEach(() => {
  asked = []
  guest = undefined
})
afterAll(async () => {
  await core?.[Symbol.asyncDispose]()
  await env?.[Symbol.asyncDispose]()
})

/** A server with a volume, and another volume. */
async function prepared() {
  const order = orderFor(env.cells[0]!)
  const { id: serverId, projectId } = order.servers[0]!.row
  const [run] = await startServers(core, work(), order)
  expect(await run!.finished).toBe('done')
  await env.until(serverId, ({ vmState }) => vmState === 'active')
  const [fromId, toId] = [newId<VolumeId>(), newId<VolumeId>()]
  const [attachmentId, cellId] = [newId<AttachmentId>(), env.cells[0]!.id]
  const described = {
    ...{ projectId, userId: 'user', name: null, description: null, metadata: {}, typeId: null },
    ...{ specs: {}, zone: null, sizeGb: 1, isBootable: false, encryption: null, source: null },
    ...{ isMultiattach: false, imageMetadata: null, fault: null, cellId, sagaId: null },
  }
  await env.db.transaction(async (tx) => {
    for (const id of [fromId, toId])
      await insertVolume(tx, { ...described, id, status: 'available' })
    await chargeVolumes(tx, { projectId, typeId: null }, { volumes: 2, gigabytes: 2 })
    const how = { device: '/dev/vdb', tag: 'data', deletesVolume: true, isRoot: false }
    const held = { id: attachmentId, volumeId: fromId, serverId, ...how }
    queueAttachment(tx, held, () => new Error('held'))
    queueAttached(tx, attachmentId)
    queueHeldStatus(tx, fromId)
  })
  const params: SwapVolumeParams = {
    ...{ serverId, cellId, attempt: 1, attachmentId, tag: 'data', fromId },
    to: { id: toId, attempt: 1, isMultiattach: false },
    holdId: newId<AttachmentId>(),
    operationIds: { copy: newId<string>(), pivot: newId<string>(), cancel: newId<string>() },
    ...{ startedAt: Date.now(), userId: 'user', projectId },
  }
  return params
}

async function expectSwapped(params: SwapVolumeParams, isSwapped: boolean): Promise<void> {
  const { serverId, fromId, to, attachmentId, projectId } = params
  const [has, free] = isSwapped ? [to.id, fromId] : [fromId, to.id]
  const kept = { device: '/dev/vdb', tag: 'data', deletesVolume: true, isRoot: false }
  const attachments = await attachmentsOfServers(env.db, [serverId])
  expect(attachments).toMatchObject([
    { id: attachmentId, volumeId: has, state: 'attached', ...kept },
  ])
  expect(attachments).toHaveLength(1)
  expect(await findVolume(env.db, has)).toMatchObject({ status: 'in-use' })
  expect(await findVolume(env.db, free)).toMatchObject({ status: 'available' })
  expect(await findMapping(env.db, serverId)).toMatchObject({ sagaId: null })
  const rows = await volumeQuotaRows(env.db, projectId)
  const used = Object.fromEntries(rows.map((row) => [row.resource, row.used]))
  expect(used).toEqual({ volumes: 2, gigabytes: 2 })
}

const engine = (
  saga: typeof swapVolumeSaga,
  { db = env.db as Transactional, processName = newId<string>() } = {},
) =>
  SagaEngine.open({
    ...{ db, deps: core as ComputeDeps, sagas: [saga], processName, clock: systemClock, log },
  })

test.each(trialsOf(swapVolumeSaga).map((trial) => [trial.label, trial] as const))(
  'swap-volume that %s leaves the server one of the volumes',
  async (_label, { saga, ends }) => {
    const params = await prepared()
    await using sagas = await engine(saga)

    const run = await sagas
      .start(saga, { subject: params.serverId, params, work: work() })
      .catch(() => undefined)
    const ended = run === undefined ? 'unwound' : await run.finished

    expect(ended).toBe(ends)
    await expectSwapped(params, ends === 'done')
    if (ends === 'unwound' && asked.length > 0) expect(asked.at(-1)).toBe('cancel')
    if (ends === 'done') expect(guest).toBe(params.to.id)
  },
)

test.each(['copy', 'pivot'] as const)(
  'a host that fails to %s has the other volume let go, and the server keeps the first',
  async (failing) => {
    const [cell] = env.cells
    const { overrides } = cell!
    cell!.overrides = {
      'instance.swap-volume': ({ step }) => {
        asked.push(step)
        if (step === failing) throw new Failure('conflict', 'The disk is broken.')
        return {}
      },
    }
    const params = await prepared()
    await using sagas = await engine(swapVolumeSaga)

    const run = await sagas.start(swapVolumeSaga, {
      subject: params.serverId,
      params,
      work: work(),
    })
    const ended = await run.finished
    cell!.overrides = overrides

    expect(ended).toBe('unwound')
    expect(asked.at(-1)).toBe('cancel')
    await expectSwapped(params, false)
  },
)

test.each(
  [1, 2, 3].flatMap((transaction) =>
    (['before', 'after'] as const).map((when) => [transaction, when] as const),
  ),
)(
  'a gateway that dies at transaction %i, %s its commit, is followed by one that ends the swap',
  async (transaction, when) => {
    const params = await prepared()
    const id = newId<SagaId>()
    const crashing = new CrashingDatabase(env.db, Number.POSITIVE_INFINITY, when)
    const processName = newId<string>()
    const dying = await engine(swapVolumeSaga, { db: crashing, processName })
    crashing.dieIn(transaction)
    const begun = await dying
      .start(swapVolumeSaga, { id, subject: params.serverId, params, work: work() })
      .then(
        () => true,
        () => false,
      )
    const isNeverBegun = !begun && transaction === 1 && when === 'before'
    if (!isNeverBegun) await waitFor('the gateway to die', async () => crashing.isDead, 30_000)
    await dying[Symbol.asyncDispose]().catch(() => undefined)

    await using next = await engine(swapVolumeSaga, { processName })
    await next.recover()

    if (isNeverBegun) return expectSwapped(params, false)
    const isOver = async () => (await findMapping(env.db, params.serverId))?.sagaId === null
    await waitFor('the swap to end', isOver, 60_000)
    await expectSwapped(params, true)
    expect(guest).toBe(params.to.id)
  },
)
