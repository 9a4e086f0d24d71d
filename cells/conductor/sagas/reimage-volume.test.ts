import { afterAll, beforeAll, expect, test } from 'vitest'
import { workContext } from '#common/context.ts'
import { newId, type VolumeId } from '#common/ids.ts'
import { trialsOf } from '#common/saga/testing.ts'
import { waitFor } from '#common/wait-for.ts'
import type { VolumeAttemptRef } from '#openapi/wire/cell-volume.ts'
import { cellEngine } from '#test/env/cell-engine.ts'
import { type TestCell, testCell } from '#test/env/test-cell.ts'
import type { RunningCell } from '../../context.ts'
import { readStores } from '../../db/stores.ts'
import { findVolume } from '../../db/volumes.ts'
import { sealedImageOf } from '../../volumes/source.ts'
import type { Volume } from '../../volumes/volume.ts'
import { reimageVolumeSaga } from './reimage-volume.ts'

// Goal: whatever fails, repeats or dies, a volume that is given the content of an image is free in the end, and says of which it is.

let cell: TestCell
let running: RunningCell

beforeAll(async () => {
  cell = await testCell('volume_reimages')
  running = await cell.addProcess('one')
  await cell.addHost({ name: 'host' })
  await cell.waitForHosts(running, 1)
  const { db } = running.cell.conductor
  await waitFor('a store', async () => (await readStores(db)).length === 1, 30_000)
})
afterAll(() => cell?.[Symbol.asyncDispose]())

const volumeNow = (id: string) => findVolume(running.cell.conductor.db, id as VolumeId)

async function madeVolume(): Promise<{
  readonly operation: VolumeAttemptRef
  readonly volume: Volume
}> {
  const operation = { id: newId<string>(), volumeId: newId<VolumeId>(), attempt: 1 }
  const volume = { projectId: 'project', sizeGb: 1, zone: null, specs: {} }
  await cell.ask('volume.create', { operation, volume })
  await expect.poll(async () => (await volumeNow(operation.volumeId))?.state).toBe('available')
  const made = (await volumeNow(operation.volumeId))!
  return { operation: { ...operation, id: newId<string>() }, volume: made }
}

const anImage = (id = newId<string>()) => ({
  ...{ id, sizeBytes: 1, sha256: '0'.repeat(64), ticket: 'ticket', diskFormat: 'raw' },
  ...{ name: 'image', minDiskGb: 0, minRamMb: 0, properties: {} },
})

const trials = trialsOf(reimageVolumeSaga)
  .filter(({ ends }) => ends === 'done')
  .map((trial) => [trial.label, trial] as const)

test.each(trials)(
  'a re-image that %s leaves the volume available, of that image',
  async (_, trial) => {
    const { secrets } = running.cell.conductor
    const { operation, volume } = await madeVolume()
    const image = anImage()
    const order = { imageId: image.id, sealedImage: sealedImageOf({ secrets }, image) }
    await using engine = await cellEngine(running, trial.saga)

    const run = await engine.start(trial.saga, {
      subject: volume.id,
      params: { operation, volume, ...order },
      work: workContext({}),
    })

    expect(await run.finished).toBe('done')
    const imageId = image.id
    const expected = { state: 'available', fault: null, sagaId: null, imageId }
    expect(await volumeNow(volume.id)).toMatchObject(expected)
  },
)

test('a re-image with an image that is too large leaves the volume available, with the reason', async () => {
  const { operation, volume } = await madeVolume()
  const image = { ...anImage(), sizeBytes: 2 ** 40 }

  for (const _ of [1, 2]) await cell.ask('volume.reimage', { operation, image })
  const settled = async () => {
    const now = await volumeNow(volume.id)
    return now?.state === 'available' && now.fault !== null ? now : undefined
  }
  const after = await waitFor('the re-image to fail', settled, 30_000)

  expect(after.fault).toContain('needs a disk of')
  expect(after.imageId).toBeNull()
})
