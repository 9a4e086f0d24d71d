import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { type AttachmentId, type InstanceId, newId, type VolumeId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { SagaEngine } from '#common/saga/engine.ts'
import type { Saga } from '#common/saga/saga.ts'
import { trialsOf } from '#common/saga/testing.ts'
import type { ComputeDeps } from '#gateway/app/compute.ts'
import type { RunningCompute } from '#gateway/app/open-compute.ts'
import { actOnServerSaga } from '#gateway/app/sagas/act-on-server.ts'
import { createServerSaga } from '#gateway/app/sagas/create-server.ts'
import { deleteServerSaga } from '#gateway/app/sagas/delete-server.ts'
import { startServers } from '#gateway/app/servers/boot/start-servers.ts'
import { queueHeldStatus } from '#gateway/db/held-volumes.ts'
import { findMapping } from '#gateway/db/instance-mappings.ts'
import { findRequestSpec } from '#gateway/db/request-specs.ts'
import { queueAttached, queueAttachment } from '#gateway/db/volume-attachments.ts'
import { findVolume, insertVolume } from '#gateway/db/volumes.ts'
import { CoreEnv, orderFor, work } from '../env/compute-core.ts'

// The standard trials of every saga: each step fails, each step and each undo runs twice.

const log = createLogger('trial', 'silent')
let env: CoreEnv
let core: RunningCompute

beforeAll(async () => {
  env = await CoreEnv.open('gateway_sagas', ['north'])
  core = await env.core()
})
afterAll(async () => {
  await core?.[Symbol.asyncDispose]()
  await env?.[Symbol.asyncDispose]()
})

function open<P>(saga: Saga<ComputeDeps, P>): Promise<SagaEngine<ComputeDeps>> {
  const processName = newId<string>()
  const { db } = env
  const deps: ComputeDeps = core
  return SagaEngine.open({ db, deps, sagas: [saga], processName, clock: systemClock, log })
}

async function active(): Promise<string> {
  const order = orderFor(env.cells[0]!)
  const { id } = order.servers[0]!.row
  const [run] = await startServers(core, work(), order)
  await run!.finished
  await env.until(id, ({ vmState }) => vmState === 'active')
  return id
}

const ofFirstRound = (step: string) => step === 'build-1' || step === 'settle-1'

test.each(trialsOf(createServerSaga, ofFirstRound).map((trial) => [trial.label, trial] as const))(
  'create-server that %s makes one server',
  async (_label, trial) => {
    await using sagas = await open(trial.saga)
    const order = orderFor(env.cells[0]!)
    const { id } = order.servers[0]!.row

    // The trial's engine stands in for the core's, with its own changed saga under the same name.
    const trying = {
      ...core,
      sagas: {
        startTogether: (_saga: unknown, starts: never, around: never) =>
          sagas.startTogether(trial.saga, starts, around),
      } as unknown as typeof core.sagas,
    }
    const [run] = await startServers(trying, work(), order)

    expect(await run!.finished).toBe(trial.ends)
    await env.until(id, ({ vmState }) => vmState === 'active')
    expect(await findMapping(env.db, id)).toMatchObject({ sagaId: null, attempt: 1 })
    expect(env.cells[0]!.views.has(id)).toBe(true)
  },
)

test.each(
  trialsOf(deleteServerSaga, (step) => step !== 'mark').map(
    (trial) => [trial.label, trial] as const,
  ),
)('delete-server that %s leaves nothing', async (_label, trial) => {
  const id = await active()
  await using sagas = await open(trial.saga)
  const params = { serverId: id as never, operationId: newId<string>(), requester: null }

  const { finished } = await sagas.start(trial.saga, { subject: id, params, work: work() })

  expect(await finished).toBe(trial.ends)
  expect(await findMapping(env.db, id)).toBeUndefined()
  expect(env.cells[0]!.views.has(id)).toBe(false)
})

test.each(trialsOf(actOnServerSaga).map((trial) => [trial.label, trial] as const))(
  'power-server that %s lets the server go',
  async (_label, trial) => {
    const id = await active()
    await using sagas = await open(trial.saga)
    const params = {
      serverId: id as never,
      cellId: env.cells[0]!.id,
      attempt: 1,
      operationId: newId<string>(),
      act: { name: 'stop' as const },
      userId: 'u',
      projectId: 'p',
    }

    const outcome = await sagas
      .start(trial.saga, { subject: id, params, work: work() })
      .then(({ finished }) => finished)
      .catch(() => 'unwound')

    expect(outcome).toBe(trial.ends)
    expect(await findMapping(env.db, id)).toMatchObject({ sagaId: null })
    if (trial.ends === 'done') expect(await env.server(id)).toMatchObject({ vmState: 'stopped' })
  },
)

/** A server with a volume from which it starts. */
async function rooted(): Promise<{ readonly id: string; readonly volumeId: VolumeId }> {
  const id = await active()
  const volumeId = newId<VolumeId>()
  const cellId = env.cells[0]!.id
  const own = { id: volumeId, projectId: 'p', userId: 'u', name: null, description: null }
  const unbound = { typeId: null, specs: {}, zone: null, encryption: null, source: null }
  const plain = { metadata: {}, sizeGb: 1, isBootable: true, isMultiattach: false, fault: null }
  const imageMetadata = { image_id: 'former' }
  const whole = { imageMetadata, cellId, status: 'available' as const, sagaId: null }
  await env.db.transaction(async (tx) => {
    await insertVolume(tx, { ...own, ...unbound, ...plain, ...whole })
    const attachmentId = newId<AttachmentId>()
    const how = { tag: null, deletesVolume: false, isRoot: true, device: null }
    queueAttachment(
      tx,
      { id: attachmentId, volumeId, serverId: id as InstanceId, ...how },
      () => new Error('taken'),
    )
    queueAttached(tx, attachmentId, '/dev/vda')
    queueHeldStatus(tx, volumeId)
  })
  return { id, volumeId }
}

test.each(trialsOf(actOnServerSaga).map((trial) => [trial.label, trial] as const))(
  'a rebuild with new content of a volume that %s holds the volume for its cell, or not at all',
  async (_label, trial) => {
    const { id, volumeId } = await rooted()
    const { spec } = (await findRequestSpec(env.db, id))!
    const imageMetadata = { image_id: 'next' }
    const sealed = { sealedUserData: null, sealedFiles: null, sealedPassword: null }
    const plan = {
      ...{ kind: 'rebuild' as const, spec, ...sealed, keepsEphemeral: false, shown: {} },
      reimages: { volumeId, imageMetadata },
    }
    await using sagas = await open(trial.saga)
    const params = {
      ...{ serverId: id as InstanceId, cellId: env.cells[0]!.id, attempt: 1 },
      ...{ operationId: newId<string>(), act: { name: 'rebuild' as const, plan } },
      ...{ userId: 'u', projectId: 'p' },
    }

    const outcome = await sagas
      .start(trial.saga, { subject: id, params, work: work() })
      .then(({ finished }) => finished)
      .catch(() => 'unwound')

    expect(outcome).toBe(trial.ends)
    expect(await findMapping(env.db, id)).toMatchObject({ sagaId: null })
    const held = { status: 'downloading', nextImageMetadata: imageMetadata }
    const free = { status: 'in-use', nextImageMetadata: null }
    expect(await findVolume(env.db, volumeId)).toMatchObject({
      ...(trial.ends === 'done' ? held : free),
      imageMetadata: { image_id: 'former' },
    })
  },
)
