import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { workContext } from '#common/context.ts'
import { type InstanceId, newId, type VolumeId } from '#common/ids.ts'
import { CrashingDatabase, trialsOf } from '#common/saga/testing.ts'
import { waitFor } from '#common/wait-for.ts'
import type { Act } from '#openapi/wire/act.ts'
import type { BuildVolume, OperationRef } from '#openapi/wire/instance.ts'
import { cellEngine } from '#test/env/cell-engine.ts'
import { sampleBuild } from '#test/env/sample-build.ts'
import { type TestCell, type TestHost, testCell } from '#test/env/test-cell.ts'
import type { RunningCell } from '../../context.ts'
import { findInstance } from '../../db/instances.ts'
import { readStores } from '../../db/stores.ts'
import { findVolume } from '../../db/volumes.ts'
import { instanceAct } from '../../handlers/instance-act.ts'
import { withStores } from '../../volumes/build-volumes.ts'
import { type ActParams, actSaga, sealedAct } from '../sagas/act.ts'

// Goal: while a rebuild gives a volume new content nothing else is done with it, and whatever fails or dies, it is free in the end.

let cell: TestCell
let running: RunningCell
let host: TestHost

beforeAll(async () => {
  cell = await testCell('reimages')
  running = await cell.addProcess('one')
  host = await cell.addHost({ name: 'host', vcpus: 64, memoryMb: 100_000, diskGb: 10_000 })
  await cell.waitForHosts(running, 1)
  const { db } = running.cell.conductor
  await waitFor('a store', async () => (await readStores(db)).length === 1, 30_000)
})
afterEach(() => host.driver.faults.set([]))
afterAll(() => cell?.[Symbol.asyncDispose]())

const small = sampleBuild()
const volumeNow = (id: string) => findVolume(running.cell.conductor.db, id as VolumeId)
const instanceOf = ({ serverId }: OperationRef) =>
  findInstance(running.cell.conductor.db, serverId as InstanceId)

interface Rooted {
  readonly operation: OperationRef
  readonly root: BuildVolume
}

/** A server that starts from a new volume. */
async function rooted(): Promise<Rooted> {
  const volumeId = newId<VolumeId>()
  const asked = { projectId: 'project', sizeGb: 1, zone: null, specs: {} }
  const operation = { id: newId(), volumeId, attempt: 1 }
  await cell.ask('volume.create', { operation, volume: asked })
  await expect.poll(async () => (await volumeNow(volumeId))?.state).toBe('available')
  const how = { isReadOnly: false, isShared: false, isRoot: true as const }
  const root = { id: newId<string>(), volumeId, volumeAttempt: 1, ...how }
  return { operation: await cell.activeServer(sampleBuild({ volumes: [root] })), root }
}

function rebuild(root: BuildVolume, reimages = true): Extract<Act, { name: 'rebuild' }> {
  const image = { ...small.image, id: newId<string>() }
  const build = sampleBuild({ image, volumes: [root] })
  return { name: 'rebuild', build, keepsEphemeral: false, ...(reimages && { reimages }) }
}

const ask = (operation: OperationRef, act: Act) =>
  cell.ask('instance.act', { operation: { ...operation, id: newId() }, act })

async function settled(operation: OperationRef): Promise<string | undefined> {
  const instance = await instanceOf(operation)
  return instance === undefined || instance.sagaId !== null ? undefined : instance.vmState
}

async function gone({ operation, root }: Rooted): Promise<void> {
  await cell.ask('instance.delete', { operation })
  await expect.poll(() => instanceOf(operation)).toBeUndefined()
  await expect
    .poll(async () => await volumeNow(root.volumeId))
    .toMatchObject({ state: 'available', sagaId: null })
  await cell.ask('volume.delete', {
    operation: { id: newId(), volumeId: root.volumeId, attempt: 1 },
  })
  await expect.poll(() => volumeNow(root.volumeId)).toBeUndefined()
}

test('the volume downloads meanwhile, and says of which image it is afterwards', async () => {
  const server = await rooted()
  const { operation, root } = server
  const act = rebuild(root)
  host.driver.faults.set([{ method: 'rebuild', effect: { do: 'hang' } }])

  await ask(operation, act)
  expect(await volumeNow(root.volumeId)).toMatchObject({ state: 'downloading' })
  const extend = { id: newId(), volumeId: root.volumeId, attempt: 1 }
  await expect(cell.ask('volume.extend', { operation: extend, sizeGb: 2 })).rejects.toMatchObject({
    kind: 'conflict',
    message: `Volume ${root.volumeId} is downloading.`,
  })
  host.driver.faults.set([])

  await expect.poll(() => settled(operation)).toBe('active')
  const imageId = act.build.image.id
  const done = { state: 'available', imageId, fault: null, sagaId: null }
  expect(await volumeNow(root.volumeId)).toMatchObject(done)
  expect(await instanceOf(operation)).toMatchObject({ imageId: null })
  const states = () =>
    cell.feed.flatMap(({ body }) =>
      body.kind === 'volume' && body.view.volumeId === root.volumeId ? [body.view.state] : [],
    )
  await expect.poll(states).toEqual(expect.arrayContaining(['downloading', 'available']))
  await gone(server)
})

test('a volume that keeps its content is not touched', async () => {
  const server = await rooted()
  const { operation, root } = server
  const before = await volumeNow(root.volumeId)

  await ask(operation, rebuild(root, false))

  await expect.poll(() => settled(operation)).toBe('active')
  expect(await volumeNow(root.volumeId)).toEqual(before)
  await gone(server)
})

test('a volume with which something else is done is refused, and the server stays as it is', async () => {
  const server = await rooted()
  const { operation, root } = server
  host.driver.faults.set([{ method: 'extendVolume', effect: { do: 'hang' } }])
  const extend = { id: newId(), volumeId: root.volumeId, attempt: 1 }
  await cell.ask('volume.extend', { operation: extend, sizeGb: 2 })

  await expect(ask(operation, rebuild(root))).rejects.toMatchObject({
    kind: 'invalid',
    message: `Invalid volume: volume '${root.volumeId}' status must be 'in-use'. Currently in 'extending' status`,
  })

  expect(await settled(operation)).toBe('active')
  host.driver.faults.set([])
  await expect.poll(async () => (await volumeNow(root.volumeId))?.state).toBe('available')
  await gone(server)
})

test('a rebuild that the host cannot carry out leaves the volume free, with the reason', async () => {
  const server = await rooted()
  const { operation, root } = server
  const effect = { do: 'fail', kind: 'conflict', message: 'cannot' } as const
  host.driver.faults.set([{ method: 'rebuild', effect }])

  await ask(operation, rebuild(root))

  await expect.poll(() => settled(operation)).toBe('error')
  const failed = { state: 'available', imageId: null, fault: 'cannot', sagaId: null }
  expect(await volumeNow(root.volumeId)).toMatchObject(failed)
  await gone(server)
})

test('a server that is deleted in the middle leaves its volume free', async () => {
  const server = await rooted()
  host.driver.faults.set([{ method: 'rebuild', effect: { do: 'hang' } }])
  await ask(server.operation, rebuild(server.root))

  await gone(server)
})

test('a rescue is refused by a host that rescues no server which starts from a volume', async () => {
  const { operation, root } = await rooted()
  const { hosts } = running.cell.conductor
  const poor = Object.create(hosts, {
    get: {
      value: (id: Parameters<typeof hosts.get>[0]) => {
        const found = hosts.get(id)
        const inventory = found?.inventory && { ...found.inventory, traits: ['COMPUTE_NODE'] }
        return found && { ...found, inventory }
      },
    },
  }) as typeof hosts
  const there = { ...running.cell, conductor: { ...running.cell.conductor, hosts: poor } }
  const rescue = (volumes?: BuildVolume[]): Act => ({
    name: 'rescue',
    build: sampleBuild(volumes && { volumes }),
  })
  const asked = (act: Act) => ({ operation: { ...operation, id: newId<string>() }, act })

  await expect(instanceAct(there, asked(rescue([root])), workContext({}))).rejects.toMatchObject({
    kind: 'invalid',
    message: `Instance ${operation.serverId} cannot be rescued: Host unable to rescue a volume-backed instance`,
  })

  await instanceAct(there, asked(rescue()), workContext({}))
  await expect.poll(() => settled(operation)).toBeDefined()
})

describe('the saga of a rebuild with a new content of the volume', () => {
  const paramsOf = async ({ operation, root }: Rooted) => {
    const instance = await instanceOf(operation)
    if (instance === undefined) throw new Error('no instance')
    const { secrets, db } = running.cell.conductor
    const own = { ...operation, id: newId<string>() }
    const wanted = rebuild(root)
    const act = { ...wanted, build: await withStores(db, wanted.build) }
    const sealed = sealedAct(secrets, own, act)
    const params: ActParams = { operation: own, action: act.name, sealed, instance, startedAt: 1 }
    const imageId = act.build.image.id
    return { start: { subject: instance.id, params, work: workContext({}) }, imageId }
  }

  test.each(
    trialsOf(actSaga, (step) => step !== 'take-back').map((trial) => [trial.label, trial] as const),
  )('that %s leaves a volume that no saga holds', async (_label, trial) => {
    const server = await rooted()
    const { start, imageId } = await paramsOf(server)
    await using engine = await cellEngine(running, trial.saga)

    const outcome = await engine
      .start(trial.saga, start)
      .then(({ finished }) => finished)
      .catch(() => 'unwound')

    expect(outcome).toBe(trial.ends)
    const volume = await volumeNow(server.root.volumeId)
    expect(volume).toMatchObject({ state: 'available', sagaId: null })
    if (trial.ends === 'done') expect(volume).toMatchObject({ imageId, fault: null })
    await gone(server)
  })

  test.each([1, 2].flatMap((nth) => [[nth, 'before'] as const, [nth, 'after'] as const]))(
    'killed at commit %i, %s it, is ended by another process',
    async (dieAt, when) => {
      const server = await rooted()
      const processName = `crashing-${server.operation.serverId.slice(-12)}`
      const crashing = new CrashingDatabase(running.cell.conductor.db, dieAt, when)
      const { start, imageId } = await paramsOf(server)
      {
        await using doomed = await cellEngine(running, actSaga, crashing, processName)
        const run = await doomed.start(actSaga, start).catch(() => undefined)
        await run?.finished
      }

      await using successor = await cellEngine(running, actSaga, undefined, processName)
      await successor.recover()

      const isPromised = dieAt > 1 || when === 'after'
      await expect.poll(() => settled(server.operation)).toBe('active')
      expect(await volumeNow(server.root.volumeId)).toMatchObject({
        ...{ state: 'available', sagaId: null, fault: null },
        imageId: isPromised ? imageId : null,
      })
      await gone(server)
    },
  )
})
