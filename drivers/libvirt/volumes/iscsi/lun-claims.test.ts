import { afterEach, beforeEach, expect, test } from 'vitest'
import { type CellId, type HostId, newId, type VolumeId } from '#common/ids.ts'
import type { Owner } from '../../../driver.ts'
import { IscsiSession } from './iscsi-session.ts'
import { claim, freeAbandoned, keyOf, letGo, lunOf, writing } from './lun-claims.ts'
import { parseLabel } from './lun-label.ts'
import { readLuns } from './luns.ts'
import { type MemoryTarget, startMemoryTarget } from './testing.ts'

const NAME = 'iqn.2026-01.org.example:storage'
const MIB = 1024 ** 2
const store = { id: newId<string>(), name: 'luns' }
const id = newId<VolumeId>()
const cellId = newId<CellId>()
const [here, there] = [newId<HostId>(), newId<HostId>()].map((hostId) => ({
  cellId,
  hostId,
})) as [Owner, Owner]

let target: MemoryTarget
let open: AsyncDisposableStack
let session: IscsiSession
beforeEach(async () => {
  open = new AsyncDisposableStack()
  const luns = { 1: Buffer.alloc(5 * MIB), 2: Buffer.alloc(3 * MIB), 3: Buffer.alloc(3 * MIB) }
  target = open.use(await startMemoryTarget({ name: NAME, luns }))
  session = await newSession()
})
afterEach(() => open.disposeAsync())

async function newSession(): Promise<IscsiSession> {
  const portal = { host: '127.0.0.1', port: target.port }
  const login = { portal, target: NAME, initiator: 'iqn.2026-01.org.example:host' }
  return open.use(await IscsiSession.open(login, AbortSignal.timeout(20_000)))
}

const claimed = async (owner: Owner, bytes = MIB, volume = id) =>
  (await claim(session, { store, owner, id: volume, bytes })).number
const stateOf = (lun: number) => parseLabel(target.luns.get(lun)!)?.use?.state

test('a volume gets the smallest free LUN that is large enough, and none where there is none', async () => {
  expect(await claimed(here, 2 * MIB)).toBe(2)
  expect(await claimed(there, 2 * MIB + 512, newId())).toBe(1)
  expect(await claimed(here, 1, newId())).toBe(3)

  await expect(claimed(here, 1, newId())).rejects.toMatchObject({
    kind: 'no-capacity',
    detail: 'storage pool luns has no free LUN, and 1 bytes are needed',
  })
})

test('of volumes that are made at once each has a LUN of its own', async () => {
  const sessions = await Promise.all([newSession(), newSession(), newSession()])

  const luns = await Promise.all(
    sessions.map((each, index) =>
      claim(each, { store, owner: [here, there][index % 2]!, id: newId(), bytes: MIB }),
    ),
  )

  expect(luns.map(({ number }) => number).toSorted((a, b) => a - b)).toEqual([1, 2, 3])
})

test('what this host has half made is made again', async () => {
  expect(await claimed(here)).toBe(2)

  expect(await claimed(here)).toBe(2)
})

test('a LUN that another host may be writing is given to nobody until that host has seen that it is not to', async () => {
  await claimed(there)

  expect(await claimed(here)).toBe(3)
  expect(stateOf(2)).toBe('abandoned')
  expect(lunOf(await readLuns(session), here, id)?.number).toBe(3)
  expect(await claimed(here, MIB, newId())).toBe(1)
  await freeAbandoned(session, await readLuns(session), here.hostId)
  expect(stateOf(2)).toBe('abandoned')
  await writing.run(keyOf(there, id), AbortSignal.timeout(5_000), async () =>
    freeAbandoned(session, await readLuns(session), there.hostId),
  )
  expect(stateOf(2)).toBe('abandoned')

  await freeAbandoned(session, await readLuns(session), there.hostId)

  expect(await claimed(here, MIB, newId())).toBe(2)
})

test('a LUN that is let go counts as not wiped', async () => {
  const lun = await claim(session, { store, owner: here, id, bytes: MIB })

  await letGo(session, lun, here)

  expect(parseLabel(target.luns.get(2)!)).toEqual({ weir: 1, store: store.id, wiped: 0 })
})
