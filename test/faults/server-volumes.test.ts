import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { type AttachmentId, newId, type VolumeId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { SagaEngine } from '#common/saga/engine.ts'
import type { Saga } from '#common/saga/saga.ts'
import { trialsOf } from '#common/saga/testing.ts'
import type { ComputeDeps } from '#gateway/app/compute.ts'
import type { RunningCompute } from '#gateway/app/open-compute.ts'
import { type CreateServerParams, createServerSaga } from '#gateway/app/sagas/create-server.ts'
import type { PlannedVolume } from '#gateway/app/servers/boot/plan-volumes.ts'
import { startServers } from '#gateway/app/servers/boot/start-servers.ts'
import type { ServerOrder } from '#gateway/app/servers/list/server-order.ts'
import { findMapping } from '#gateway/db/instance-mappings.ts'
import { attachmentsOfVolumes } from '#gateway/db/volume-attachments.ts'
import { findVolume } from '#gateway/db/volumes.ts'
import type { CellAnswer } from '#openapi/wire/cell.ts'
import { CoreEnv, orderFor, work } from '../env/compute-core.ts'
import { HOSTS_TRACE } from '../env/scripted-cell.ts'

// The standard trials of the saga that builds a server, where a volume is made with the server.

const log = createLogger('trial', 'silent')
let env: CoreEnv
let core: RunningCompute

beforeAll(async () => {
  env = await CoreEnv.open('server_volumes', ['north'])
  core = await env.core()
  await env.untilResynced(core)
})
afterAll(async () => {
  await core?.[Symbol.asyncDispose]()
  await env?.[Symbol.asyncDispose]()
})

/** An order for one server and a volume that is made with it. */
function order(): ServerOrder & { readonly volumeId: VolumeId } {
  const of = orderFor(env.cells[0]!)
  const server = of.servers[0]!
  const { projectId, userId } = server.row
  const [attachmentId, volumeId] = [newId<AttachmentId>(), newId<VolumeId>()]
  const attachment = { id: attachmentId, volumeId, volumeAttempt: 1 }
  const build = { ...attachment, isReadOnly: false, isShared: false, isRoot: true } as const
  const volume: PlannedVolume = {
    ...{ attachmentId, volumeId, build },
    requested: {
      ...{ volumeId: undefined, source: null, sizeGb: 1, type: null, tag: null },
      ...{ deletesVolume: false, isRoot: true },
    },
    described: {
      only: null,
      row: {
        ...{ projectId, userId, name: '', description: '', metadata: {}, typeId: null, specs: {} },
        ...{ zone: null, sizeGb: 1, isBootable: true, isMultiattach: false, source: null },
        encryption: null,
        imageMetadata: null,
      },
    },
  }
  const spec = { ...server.spec, volumes: [build] }
  return { ...of, volumeId, servers: [{ ...server, spec, volumes: [volume] }] }
}

function makes(volumeId: VolumeId): CellAnswer<'volume.create'> {
  const view = {
    ...{ volumeId, attempt: 1, version: 2, state: 'available' as const, sizeGb: 1 },
    ...{ storeId: 's', storeName: 's', zone: 'nova', fault: null, updatedAt: 1 },
  }
  return { outcome: 'accepted', view }
}

/** Starts the order with a changed saga; returns how that ended. */
async function build(saga: Saga<ComputeDeps, CreateServerParams>, of: ServerOrder) {
  const { db } = env
  await using sagas = await SagaEngine.open({
    ...{ db, deps: core as ComputeDeps, sagas: [saga], processName: newId<string>() },
    ...{ clock: systemClock, log },
  })
  const trying = {
    ...core,
    sagas: {
      startTogether: (_saga: unknown, starts: never, around: never) =>
        sagas.startTogether(saga, starts, around),
    } as unknown as typeof core.sagas,
  }
  const [run] = await startServers(trying, work(), of)
  return await run!.finished
}

const SCORES = [{ candidate: 'host-2', score: 1, parts: {} }]
const STEPS = ['make-volumes', 'build-1', 'settle-1']
const trials = trialsOf(createServerSaga, (step) => STEPS.includes(step))

test.each(trials.map((trial) => [trial.label, trial] as const))(
  'create-server that %s makes one volume, which the server has',
  async (_label, trial) => {
    const [cell] = env.cells
    const asked: string[] = []
    cell!.overrides = {
      'placement.explain': () => ({ trace: { ...HOSTS_TRACE, scores: SCORES } }),
      'volume.create': ({ operation, volume }) => {
        asked.push(operation.id)
        expect(volume.host).toBe('host-2')
        return makes(operation.volumeId as VolumeId)
      },
    }
    const of = order()

    expect(await build(trial.saga, of)).toBe('done')

    const { id } = of.servers[0]!.row
    await env.until(id, ({ vmState }) => vmState === 'active')
    expect(new Set(asked).size).toBe(1)
    expect(await findVolume(env.db, of.volumeId)).toMatchObject({ status: 'in-use', sagaId: null })
    expect(await attachmentsOfVolumes(env.db, [of.volumeId])).toMatchObject([
      { serverId: id, state: 'attached', isRoot: true, device: '/dev/vda' },
    ])
    expect(cell!.builds.at(-1)?.build.volumes).toMatchObject([{ volumeId: of.volumeId }])
  },
)

test('a volume that its cell refuses leaves the server in ERROR, in no cell, without it', async () => {
  const [cell] = env.cells
  cell!.overrides = { 'volume.create': () => ({ outcome: 'refused', reason: 'No store fits.' }) }
  const of = order()
  const { id } = of.servers[0]!.row

  expect(await build(createServerSaga, of)).toBe('done')

  const { fault } = await env.until(id, ({ vmState }) => vmState === 'error')
  expect(fault).toMatchObject({ details: 'No store fits.' })
  expect(await findMapping(env.db, id)).toMatchObject({ cellId: null, sagaId: null })
  expect(await findVolume(env.db, of.volumeId)).toMatchObject({
    ...{ status: 'error', cellId: null, sagaId: null, fault: 'No store fits.' },
  })
  expect(await attachmentsOfVolumes(env.db, [of.volumeId])).toEqual([])
  expect(cell!.builds.every(({ operation }) => operation.serverId !== id)).toBe(true)
})
