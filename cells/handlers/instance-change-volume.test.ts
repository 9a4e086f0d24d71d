import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId, type VolumeId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import { type TestCell, type TestHost, testCell } from '#test/env/test-cell.ts'
import type { RunningCell } from '../context.ts'
import { hostsOfStore, readStores, recordStores } from '../db/stores.ts'
import { findVolume } from '../db/volumes.ts'

// Goal: what is refused has not been done, whatever the host was asked before.

let cell: TestCell
let running: RunningCell
let host: TestHost

beforeAll(async () => {
  cell = await testCell('change_volume')
  running = await cell.addProcess('one')
  host = await cell.addHost({ name: 'host' })
  await cell.waitForHosts(running, 1)
  const { db } = running.cell.conductor
  await waitFor('a store', async () => (await readStores(db)).length === 1, 30_000)
})
afterAll(() => cell?.[Symbol.asyncDispose]())

async function makeVolume(): Promise<VolumeId> {
  const volumeId = newId<VolumeId>()
  const operation = { id: newId<string>(), volumeId, attempt: 1 }
  const draft = { projectId: 'demo', sizeGb: 1, specs: {}, zone: null }
  await cell.ask('volume.create', { operation, volume: draft })
  const { db } = running.cell.conductor
  const isMade = async () => (await findVolume(db, volumeId))?.state === 'available'
  await waitFor('the volume', isMade, 30_000)
  return volumeId
}

/** The host's stores are gone from its reports for a moment, as after its hypervisor was started again. */
async function withoutStores<T>(work: () => Promise<T>): Promise<T> {
  const { db } = running.cell.conductor
  host.driver.faults.set([{ method: 'stores', effect: { do: 'fail', kind: 'unavailable' } }])
  await db.transaction((tx) => recordStores(tx, host.id, []))
  try {
    return await work()
  } finally {
    host.driver.faults.set([])
  }
}

const attachTo = (serverId: string, volumeId: string) => {
  const how = { volumeAttempt: 1, isShared: false, isReadOnly: false }
  const attach = { id: newId<string>(), volumeId, ...how }
  const operation = { id: newId<string>(), serverId, attempt: 1 }
  return () => cell.ask('instance.change-volume', { operation, attach })
}

test('an attach that is asked for again and refused, because its host shows no store, leaves the guest without the volume', async () => {
  const volumeId = await makeVolume()
  const [one, other] = [await cell.activeServer(), await cell.activeServer()]
  const attach = attachTo(one.serverId, volumeId)
  const attached = { device: expect.stringMatching(/^\/dev\//) as string }
  expect(await attach()).toMatchObject(attached)

  await withoutStores(() =>
    expect(attach()).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('does not reach the store') as string,
    }),
  )

  const { db } = running.cell.conductor
  await waitFor(
    'the store',
    async () => (await hostsOfStore(db, (await readStores(db))[0]!.id)).length === 1,
    30_000,
  )
  expect(await attachTo(other.serverId, volumeId)()).toMatchObject(attached)
})

test('an attach to a guest of a driver without volumes is refused at once', async () => {
  const volumeId = await makeVolume()
  const { serverId } = await cell.activeServer()
  const { volumes } = host.driver
  Object.assign(host.driver, { volumes: undefined })
  const { db } = running.cell.conductor
  await db.transaction((tx) => recordStores(tx, host.id, []))

  await expect(attachTo(serverId, volumeId)()).rejects.toMatchObject({ kind: 'conflict' })

  Object.assign(host.driver, { volumes })
})
