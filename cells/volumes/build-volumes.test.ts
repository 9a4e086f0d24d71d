import { afterAll, beforeAll, expect, test } from 'vitest'
import { type InstanceId, newId, type VolumeId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import { operationOn, sampleBuild } from '#test/env/sample-build.ts'
import { type TestCell, testCell } from '#test/env/test-cell.ts'
import type { RunningCell } from '../context.ts'
import { findInstance } from '../db/instances.ts'
import { readStores } from '../db/stores.ts'
import { findVolume } from '../db/volumes.ts'
import { resourcesOf } from '../placement/resources.ts'

// Goal: a server that has volumes from the start is built where they are, and nowhere else.

const LIMIT_MS = 30_000

let cell: TestCell
let running: RunningCell

beforeAll(async () => {
  cell = await testCell('build_volumes')
  running = await cell.addProcess('one')
  // Without volumes the larger one is always chosen.
  await cell.addHost({ name: 'small' })
  await cell.addHost({ name: 'large', vcpus: 64, memoryMb: 100_000, diskGb: 10_000 })
  await cell.waitForHosts(running, 2)
  const { db } = running.cell.conductor
  await waitFor('two stores', async () => (await readStores(db)).length === 2, LIMIT_MS)
})

afterAll(() => cell?.[Symbol.asyncDispose]())

/** A volume in the store of the host of this name. */
async function volumeOn(host: string): Promise<VolumeId> {
  const { conductor } = running.cell
  const operation = { id: newId(), volumeId: newId<VolumeId>(), attempt: 1 }
  const volume = { projectId: 'demo', sizeGb: 1, zone: null, specs: {}, host }
  await cell.ask('volume.create', { operation, volume })
  const made = await waitFor(
    'a volume',
    async () => {
      const row = await findVolume(conductor.db, operation.volumeId)
      return row?.state === 'available' ? row : undefined
    },
    LIMIT_MS,
  )
  expect(conductor.hosts.get(made.hostId)?.name).toBe(host)
  return made.id
}

const volumeOf = (volumeId: string, volumeAttempt = 1) => ({
  ...{ id: newId(), volumeId, volumeAttempt, isReadOnly: false, isShared: false },
})

test('a server is built on the host that reaches the stores of its volumes', async () => {
  const [root, data] = [await volumeOn('small'), await volumeOn('small')]
  const volumes = [{ ...volumeOf(root), isRoot: true as const }, volumeOf(data)]
  const operation = operationOn()

  const answer = await cell.ask('instance.build', { operation, build: sampleBuild({ volumes }) })

  expect(answer).toMatchObject({ outcome: 'accepted', view: { host: 'small' } })
  const { db } = running.cell.conductor
  const id = operation.serverId as InstanceId
  const isActive = async () => (await findInstance(db, id))?.vmState === 'active'
  await waitFor('the server', isActive, LIMIT_MS)
})

test.each<[string, () => Promise<ReturnType<typeof volumeOf>[]>]>([
  ['a volume that the cell does not have', async () => [volumeOf(newId())]],
  ['another attempt of a volume', async () => [volumeOf(await volumeOn('small'), 2)]],
  [
    'volumes of two hosts',
    async () => [volumeOf(await volumeOn('small')), volumeOf(await volumeOn('large'))],
  ],
])('%s is refused, with the reason', async (_, volumes) => {
  const build = sampleBuild({ volumes: await volumes() })

  const answer = await cell.ask('instance.build', { operation: operationOn(), build })

  expect(answer).toMatchObject({
    outcome: 'refused',
    trace: { filters: expect.arrayContaining([expect.objectContaining({ name: 'StoreFilter' })]) },
  })
})

test('a server that starts from a volume takes no room of its host for a first disk', () => {
  const build = sampleBuild()
  const flavor = { ...build.flavor, rootGb: 7, ephemeralGb: 2 }
  const volume = volumeOf(newId())
  const room = (...volumes: NonNullable<typeof build.volumes>) =>
    resourcesOf({ ...build, flavor, volumes }).diskGb

  expect(room(volume)).toBe(9)
  expect(room({ ...volume, isRoot: true })).toBe(2)
})
