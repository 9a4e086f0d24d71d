import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Static } from 'typebox'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { workContext } from '#common/context.ts'
import { newId, type VolumeId, type VolumeSnapshotId } from '#common/ids.ts'
import type { HOST_OPERATIONS, HostAnswer } from '#openapi/wire/host.ts'
import { type TestCell, type TestHost, testCell } from '#test/env/test-cell.ts'
import { askHost } from '../../conductor/ask-host.ts'
import type { RunningCell } from '../../context.ts'

type Operation = Extract<keyof typeof HOST_OPERATIONS, `volume-${string}`>
type Ask<O extends Operation> = Static<(typeof HOST_OPERATIONS)[O]['ask']>

const GIB = 1024 ** 3

let folder: string
let cell: TestCell
let running: RunningCell
let hosts: readonly [TestHost, TestHost]
let store: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-volumes-'))
  cell = await testCell('volumes')
  running = await cell.addProcess('one', { hostTimeoutMs: 5_000 })
  const shared = { volumeStore: join(folder, 'store'), volumeStoreGb: 100 }
  hosts = [
    await cell.addHost({ name: 'first', ...shared }),
    await cell.addHost({ name: 'second', ...shared }),
  ]
  await cell.waitForHosts(running, 2)
  const [report] = await hosts[0].driver.volumes!.stores(AbortSignal.timeout(5_000))
  store = report!.id
})
afterAll(async () => {
  await cell?.[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})
beforeEach(() => {
  for (const { driver } of hosts) driver.faults.set([])
})

const askOf = <O extends Operation>(host: TestHost, operation: O, payload: Ask<O>) =>
  askHost(running.cell.conductor, host.id, operation, payload, workContext({}))
/** Repeats the question until the host has done the work. */
async function outcome<O extends Exclude<Operation, 'volume-list'>>(
  host: TestHost,
  operation: O,
  payload: Ask<O>,
): Promise<HostAnswer> {
  let answer: HostAnswer = { state: 'working' }
  await expect
    .poll(async () => {
      answer = (await askOf(host, operation, payload)) as HostAnswer
      return answer.state
    })
    .not.toBe('working')
  return answer
}
const work = (volumeId: string = newId()) => ({ id: newId<string>(), store, volumeId })
const idsOn = async (host: TestHost) =>
  (await askOf(host, 'volume-list', { store })).volumes.map(({ id }) => id)
async function newVolume(): Promise<string> {
  const operation = work()
  const answer = await outcome(hosts[0], 'volume-create', { operation, bytes: GIB })
  expect(answer).toEqual({ state: 'done' })
  return operation.volumeId
}
async function hostOf(serverId: string): Promise<TestHost> {
  for (const host of hosts) {
    const guests = await host.driver.list(AbortSignal.timeout(5_000))
    if (guests.some(({ id }) => id === serverId)) return host
  }
  throw new Error(`no host has ${serverId}`)
}
const anAttachment = (volumeId: string) => ({
  ...{ id: newId<string>(), store, volumeId, isReadOnly: false, isShared: false },
})

test('a host reports the store that it shares, and none that does not answer', async () => {
  const { conductor } = running.cell
  const report = (host: TestHost) => askHost(conductor, host.id, 'report', {}, workContext({}))
  const shared = { id: store, name: 'fake', engine: 'fake', totalBytes: 100 * GIB, isShared: true }

  for (const host of hosts) expect((await report(host)).stores).toMatchObject([shared])
  const effect = { do: 'fail', kind: 'unavailable' } as const
  hosts[0].driver.faults.set([{ method: 'stores', effect }])
  expect(await report(hosts[0])).toMatchObject({ down: null, stores: [] })
})

test('a volume is made once, grows, has snapshots and goes, on whichever host of its store', async () => {
  const volumeId = await newVolume()
  const [first, second] = hosts
  const snapshotId = newId<string>()

  await outcome(second, 'volume-extend', { operation: work(volumeId), bytes: 2 * GIB })
  await outcome(first, 'volume-snapshot', { operation: work(volumeId), snapshotId })
  const copy = work()
  const from = { volumeId, snapshotId }
  await outcome(first, 'volume-create', { operation: copy, bytes: GIB, from })

  const { volumes } = await askOf(second, 'volume-list', { store })
  expect(volumes).toContainEqual({ id: volumeId, bytes: 2 * GIB, snapshots: [snapshotId] })
  expect(volumes).toContainEqual({ id: copy.volumeId, bytes: 2 * GIB, snapshots: [] })
  const refused = await outcome(first, 'volume-destroy', { operation: work(volumeId) })
  expect(refused).toMatchObject({ state: 'failed', kind: 'conflict' })
  await outcome(first, 'volume-destroy-snapshot', { operation: work(volumeId), snapshotId })
  await outcome(second, 'volume-destroy', { operation: work(volumeId) })
  expect(await idsOn(first)).not.toContain(volumeId)
})

test('a request that comes late, after the volume is gone, is answered as before and makes nothing', async () => {
  const [host] = hosts
  const operation = work()
  const late = { operation, bytes: GIB }
  await outcome(host, 'volume-create', late)
  await outcome(host, 'volume-destroy', { operation: work(operation.volumeId) })

  expect(await outcome(host, 'volume-create', late)).toEqual({ state: 'done' })

  expect(await idsOn(host)).not.toContain(operation.volumeId)
})

test('a lost answer is asked for again, and a destroy ends what is being made', async () => {
  const [host] = hosts
  const lost = work()
  const unknown = { do: 'fail', kind: 'unavailable' } as const
  host.driver.faults.set([{ method: 'createVolume', times: 1, effect: unknown }])
  const asked = { operation: lost, bytes: GIB }
  await expect(askOf(host, 'volume-create', asked)).rejects.toMatchObject({ kind: 'unavailable' })
  expect(await outcome(host, 'volume-create', asked)).toEqual({ state: 'done' })

  host.driver.faults.set([{ method: 'createVolume', effect: { do: 'hang' } }])
  const hanging = work()
  const making = askOf(host, 'volume-create', { operation: hanging, bytes: GIB })
  const ended = expect(making).rejects.toMatchObject({ kind: 'unavailable' })
  await outcome(host, 'volume-destroy', { operation: work(hanging.volumeId) })
  await ended
  expect(await idsOn(host)).not.toContain(hanging.volumeId)
})

test('a server gets a volume and gives it back; of a newer attempt the host says so', async () => {
  const operation = await cell.activeServer()
  const host = await hostOf(operation.serverId)
  const attachment = anAttachment(await newVolume())
  const again = () => ({ ...operation, id: newId<string>() })

  const attached = { operation: again(), attachment }
  const answer = await outcome(host, 'volume-attach', attached)
  expect(answer).toEqual({ state: 'done', device: '/dev/vdb' })
  expect(await outcome(host, 'volume-attach', attached)).toEqual(answer)
  const destroy = () => outcome(host, 'volume-destroy', { operation: work(attachment.volumeId) })
  expect(await destroy()).toMatchObject({ state: 'failed', kind: 'conflict' })
  const stale = { ...again(), attempt: operation.attempt + 1 }
  await outcome(host, 'volume-detach', { operation: stale, attachmentId: attachment.id })
  const late = await outcome(host, 'volume-attach', { operation: again(), attachment })
  expect(late).toEqual({ state: 'stale', attempt: operation.attempt + 1 })
  expect(await destroy()).toEqual({ state: 'done' })
})

test('a server changes its volume for another in steps, each done once; a driver that cannot says so', async () => {
  const operation = await cell.activeServer()
  const host = await hostOf(operation.serverId)
  const attachment = anAttachment(await newVolume())
  const to = { ...attachment, volumeId: await newVolume() }
  const again = () => ({ ...operation, id: newId<string>() })
  await outcome(host, 'volume-attach', { operation: again(), attachment })
  const destroy = (volumeId: string) =>
    outcome(host, 'volume-destroy', { operation: work(volumeId) })
  const isHeld = { state: 'failed', kind: 'conflict' }

  const copied = { operation: again(), step: 'copy', to } as const
  expect(await outcome(host, 'volume-swap', copied)).toEqual({ state: 'done' })
  expect(await destroy(to.volumeId)).toMatchObject(isHeld)
  const cancelled = { operation: again(), step: 'cancel', to } as const
  expect(await outcome(host, 'volume-swap', cancelled)).toEqual({ state: 'done' })
  // It comes late, and is answered as before.
  expect(await outcome(host, 'volume-swap', copied)).toEqual({ state: 'done' })
  const early = { operation: again(), step: 'pivot', to } as const
  expect(await outcome(host, 'volume-swap', early)).toMatchObject(isHeld)
  for (const step of ['copy', 'pivot'] as const)
    expect(await outcome(host, 'volume-swap', { operation: again(), step, to })).toEqual({
      state: 'done',
    })
  expect(await destroy(to.volumeId)).toMatchObject(isHeld)
  expect(await destroy(attachment.volumeId)).toEqual({ state: 'done' })

  const without = vi.spyOn(host.driver.volumes!, 'swap', 'get').mockReturnValue(undefined)
  try {
    const refused = { operation: again(), step: 'copy', to } as const
    expect(await outcome(host, 'volume-swap', refused)).toMatchObject({
      ...{ state: 'failed', kind: 'unsupported' },
      message: expect.stringContaining("Driver 'fake' does not change a volume of a server"),
    })
  } finally {
    without.mockRestore()
  }
})

test('a list of many volumes comes in parts', async () => {
  const [host] = hosts
  const ids = Array.from({ length: 3 }, () => newId<VolumeId>()).toSorted()
  const listed = ids.map((id) => ({
    id,
    bytes: GIB,
    snapshots: Array.from({ length: 3_000 }, () => newId<VolumeSnapshotId>()),
  }))
  const list = vi.spyOn(host.driver.volumes!, 'list').mockResolvedValue(listed)
  try {
    const parts = []
    for (let after: string | undefined, hasMore: boolean | undefined = true; hasMore; ) {
      const part = await askOf(host, 'volume-list', { store, ...(after && { after }) })
      parts.push(part.volumes.map(({ id }) => id))
      hasMore = part.hasMore
      after = part.volumes.at(-1)?.id
    }
    expect(parts).toEqual(ids.map((id) => [id]))
  } finally {
    list.mockRestore()
  }
})
