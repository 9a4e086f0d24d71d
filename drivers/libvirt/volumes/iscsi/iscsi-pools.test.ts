import { afterEach, beforeEach, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { parseXml } from '../../xml/parse.ts'
import type { PoolCalls } from '../pool-calls.ts'
import { IscsiPools } from './iscsi-pools.ts'
import { CONTENT_AT, parseLabel } from './lun-label.ts'
import { type MemoryTarget, type MemoryTargetOptions, startMemoryTarget } from './testing.ts'

const NAME = 'iqn.2026-01.org.example:storage'
const MIB = 1024 ** 2
const disk = (mib = 3) => Buffer.alloc(mib * MIB)
const signal = () => AbortSignal.timeout(20_000)

let target: MemoryTarget
afterEach(() => target?.[Symbol.asyncDispose]())

async function start(options: Partial<MemoryTargetOptions> = {}): Promise<void> {
  target = await startMemoryTarget({
    name: NAME,
    luns: { 1: disk(), 2: disk(), 3: disk(9) },
    ...options,
  })
}

/** What a host finds that has this password for the target. */
function look(password?: string, name = NAME) {
  const calls = { iscsiPassword: async () => Buffer.from(password ?? '') } as Partial<PoolCalls>
  const auth =
    password === undefined ? '' : `<auth type='chap' username='weir'><secret usage='luns'/></auth>`
  const xml = parseXml(
    `<pool type='iscsi-direct'><name>luns</name><source><host name='127.0.0.1' port='${target.port}'/>
      <device path='${name}'/>${auth}<initiator><iqn name='iqn.2026-01.org.example:host'/></initiator></source></pool>`,
  )
  return new IscsiPools(newId(), calls as PoolCalls).look('luns', xml, signal())
}

beforeEach(() => start())

test('hosts that look at once find one store, whose room is what volumes can have', async () => {
  const stores = await Promise.all([look(), look(), look()])

  expect(new Set(stores.map(({ id }) => id)).size).toBe(1)
  const bytes = (3 + 3 + 9) * MIB - 3 * CONTENT_AT
  const [store] = stores
  expect(store).toMatchObject({ engine: 'iscsi', totalBytes: bytes, freeBytes: bytes })
  expect(store!.largestVolumeBytes).toBe(8 * MIB)
  expect(parseLabel(target.luns.get(1)!)).toMatchObject({ store: store!.id })
  expect(parseLabel(target.luns.get(2)!)).toBeUndefined()
})

test('a store keeps its identity when a LUN is added in front, and goes to a target of another name with its LUNs', async () => {
  const { id } = await look()
  target.luns.set(4, target.luns.get(1)!)
  target.luns.set(1, disk())

  expect((await look()).id).toBe(id)

  const luns = Object.fromEntries(target.luns)
  await target[Symbol.asyncDispose]()
  await start({ name: 'iqn.2026-01.org.example:moved', luns })
  expect((await look(undefined, 'iqn.2026-01.org.example:moved')).id).toBe(id)
})

test.each([
  ['at its beginning', 0],
  ['in the first part, as a file system has it', 64 * 1024],
  ['at its end, as a copy of a partition table is', 3 * MIB - 512],
])("a LUN on which others have written %s is nobody's of Weir", async (_, at) => {
  target.luns.get(1)!.write('other', at)

  const store = await look()

  expect(store.totalBytes).toBe((3 + 9) * MIB - 2 * CONTENT_AT)
  expect(target.luns.get(1)!.toString('latin1', at, at + 5)).toBe('other')
  expect(parseLabel(target.luns.get(2)!)).toBeDefined()
})

test('a LUN for which others have registered is not taken', async () => {
  target.registered.add(1)

  expect((await look()).totalBytes).toBe((3 + 9) * MIB - 2 * CONTENT_AT)
  expect(parseLabel(target.luns.get(1)!)).toBeUndefined()
})

test('a target without a LUN for volumes is left out, and says which LUNs others have', async () => {
  for (const lun of target.luns.values()) lun.write('other')

  const message =
    'Storage pool luns has no LUN for volumes: LUN 1, 2, 3: others have written there.'
  await expect(look()).rejects.toMatchObject({ kind: 'not-found', message })
})

test('LUNs of two stores behind one target are refused, and named', async () => {
  await look()
  const first = target.luns.get(1)!
  target.luns.delete(1)
  await look()
  target.luns.set(7, first)

  await expect(look()).rejects.toMatchObject({
    kind: 'conflict',
    message: expect.stringMatching(/several stores: LUN 2 of store .+; LUN 7 of store/),
  })
})

test('a password is asked for, and a wrong one, or none, is refused', async () => {
  await target[Symbol.asyncDispose]()
  await start({ chap: { user: 'weir', password: 'right' } })

  await expect(look('right')).resolves.toMatchObject({ engine: 'iscsi' })
  for (const password of ['wrong', undefined])
    await expect(look(password)).rejects.toMatchObject({
      kind: 'forbidden',
      message: expect.stringContaining('user name or password are wrong'),
    })
})

test('a target that has not this name, or is gone, is named', async () => {
  await expect(look(undefined, 'iqn.2026-01.org.example:other')).rejects.toMatchObject({
    kind: 'forbidden',
    message: expect.stringContaining('it has no target of this name'),
  })
  const gone = {
    kind: 'internal',
    message: 'The iSCSI target of storage pool luns does not answer.',
  }
  await target[Symbol.asyncDispose]()
  await expect(look()).rejects.toMatchObject(gone)
})
