import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { stores } from '#cells/db/schema/volumes.ts'
import { newId, type VolumeId } from '#common/ids.ts'
import { StoreMoveCell } from '#test/env/store-move-cell.ts'
import { GIB } from './store.ts'

// Goal: no volume is refused because of what a host saw of the room in its store some time ago.

const SIZE_GB = 2
let world: StoreMoveCell

beforeAll(async () => {
  world = await StoreMoveCell.start('choose_current')
})
afterEach(() => world.clearFaults())
afterAll(() => world?.[Symbol.asyncDispose]())

/** What the cell has on record of every store is from a time when 1 GiB was free. */
async function fillOnRecord(): Promise<void> {
  await world.db.orm.update(stores).set({ freeBytes: GIB })
}

async function created(sizeGb: number) {
  const operation = { id: newId<string>(), volumeId: newId<VolumeId>(), attempt: 1 }
  const volume = { projectId: 'demo', sizeGb, zone: null, specs: {} }
  const answer = await world.cell.ask('volume.create', { operation, volume })
  if (answer.outcome === 'accepted') await world.settled(operation.volumeId)
  return answer
}

test('a volume gets the room that has become free since the last report', async () => {
  await fillOnRecord()

  const answer = await created(SIZE_GB)

  expect(answer).toMatchObject({ outcome: 'accepted', trace: { filters: expect.any(Array) } })
  const free = (await world.storeOf(world.here)).freeBytes
  expect(free).toBeGreaterThan(SIZE_GB * GIB)
})

test('a volume moves to such a store', async () => {
  const id = await world.madeVolume(null)
  await fillOnRecord()
  const operation = { id: newId<string>(), volumeId: id, attempt: 1 }

  await world.cell.ask('volume.migrate', { operation, specs: {}, zone: null })

  await world.settled(id)
  await world.expectIn(world.there, id, { isEncrypted: false })
})

test('a volume is refused by stores that its hosts see full', async () => {
  for (const host of [world.here, world.there]) {
    const { id: store, totalBytes, promisedGb } = await world.storeOf(host)
    const id = newId<VolumeId>()
    const bytes = totalBytes - (promisedGb + 1) * GIB
    await host.driver.volumes!.create({ store, id, bytes }, AbortSignal.timeout(10_000))
  }
  await fillOnRecord()

  const answer = await created(SIZE_GB)

  expect(answer).toMatchObject({ outcome: 'refused', reason: expect.stringContaining('GiB free') })
})
