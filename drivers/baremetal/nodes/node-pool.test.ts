import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type InstanceId, newId } from '#common/ids.ts'
import { secretsOf } from '#common/secrets.ts'
import type { EnrolledNode } from './enrolled-node.ts'
import { isOffered, resourceClassOf } from './node.ts'
import { NodePool } from './node-pool.ts'
import { NEW_NODE } from './node-record.ts'

const GIB = 1024 ** 3
const parts = {
  cpus: 32,
  cpuModel: 'a fine CPU',
  architecture: 'x86_64',
  memoryMb: 128 * 1024 - 700,
  disks: [{ name: 'sda', sizeBytes: 960 * GIB }],
  macAddresses: [],
}
const CLASS = 'CUSTOM_METAL_32CPU_128GB_960GB'

let root: string
let folder: string
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'weir-pool-'))
})
beforeEach(async () => {
  folder = await mkdtemp(join(root, 'nodes-'))
})
afterAll(() => rm(root, { recursive: true, force: true }))

const macOf = (name: string) =>
  `52:54:${[...Buffer.from(name.padEnd(4)).subarray(0, 4)].map((byte) => byte.toString(16)).join(':')}`
const node = (name: string, change: Partial<EnrolledNode> = {}): EnrolledNode => {
  return { name, macAddress: macOf(name), usesEfi: false, ...change }
}
const open = async (...nodes: readonly EnrolledNode[]) => {
  await writeFile(join(folder, 'nodes.json'), JSON.stringify({ nodes }))
  return NodePool.open(folder, secretsOf('ab'.repeat(32)))
}
const seen = async (
  name: string,
  state: 'available' | 'active',
  instance: InstanceId | null = null,
) => {
  const record = { ...NEW_NODE, state, instance, parts }
  await mkdir(join(folder, 'nodes'), { recursive: true })
  await writeFile(join(folder, 'nodes', `${name}.json`), JSON.stringify(record))
}

test('a server gets one of the machines like it, and no two get the same', async () => {
  for (const name of ['one', 'two']) await seen(name, 'available')
  const pool = await open(node('one'), node('two'), node('new'))
  const servers = [newId<InstanceId>(), newId<InstanceId>()] as const

  const taken = await Promise.all(servers.map((id) => pool.take(CLASS, id, () => undefined)))

  expect(taken.map(({ name }) => name).toSorted()).toEqual(['one', 'two'])
  const third = pool.take(CLASS, newId<InstanceId>(), () => undefined)
  await expect(third).rejects.toMatchObject({ kind: 'no-capacity' })
  const again = await open(node('one'), node('two'))
  expect(again.get(servers[0]).record).toMatchObject({ state: 'deploying', instance: servers[0] })
})

test('one that is refused, in maintenance, new, or of another class is not taken', async () => {
  for (const name of ['kept', 'named', 'small']) await seen(name, 'available')
  const named = node('named', { resourceClass: 'CUSTOM_GOLD' })
  const pool = await open(node('kept', { maintenance: 'loud' }), named, node('small'), node('new'))
  const refuse = () => {
    throw new Error('too small')
  }

  await expect(pool.take(CLASS, newId<InstanceId>(), refuse)).rejects.toThrow('too small')

  expect(pool.all().map(resourceClassOf)).toEqual([CLASS, 'CUSTOM_GOLD', CLASS, undefined])
  expect(pool.all().map(isOffered)).toEqual([false, true, true, false])
  expect(pool.all().map(({ record }) => record.instance)).toEqual([null, null, null, null])
})

test('a node with a server cannot be forgotten', async () => {
  const id = newId<InstanceId>()
  await seen('gone', 'active', id)

  await expect(open(node('other'))).rejects.toThrow(new RegExp(`Node gone has server ${id}`))
  await expect(open(node('gone', { maintenance: 'loud' }))).resolves.toBeDefined()
})

test('nodes can be added and removed while the host runs, and decisions about them persist', async () => {
  const bmc = { address: '192.0.2.7', port: 623, user: 'weir', privilege: 'operator' } as const
  const added = { ...node('added'), bmc: { ...bmc, password: 'known to nobody' } }
  const pool = await open()

  const both = await Promise.all([pool.add(added), pool.add(added)])
  expect(both[0]).toBe(both[1])
  const twin = pool.add({ ...node('twin'), macAddress: added.macAddress })
  await expect(twin).rejects.toMatchObject({ kind: 'conflict' })
  const secondary = { ...node('secondary'), bmc: { ...added.bmc, password: 'another' } }
  await expect(pool.add(secondary)).rejects.toMatchObject({
    kind: 'conflict',
    message: expect.stringContaining('Node added has this name, MAC address or BMC.'),
  })
  await expect(pool.add(node('../etc'))).rejects.toMatchObject({ kind: 'invalid' })
  await pool.maintain(pool.named('added'), 'loud')
  await pool.add(node('gone'))
  await pool.remove(pool.named('gone'))

  expect(() => pool.named('gone')).toThrow(/no node gone/)
  expect(await readFile(join(folder, 'nodes.json'), 'utf8')).not.toContain('known to nobody')
  const again = await NodePool.open(folder, secretsOf('ab'.repeat(32)))
  expect(again.all().map(({ name, enrolled }) => [name, enrolled.maintenance])).toEqual([
    ['added', 'loud'],
  ])
  for (const each of [pool, again]) await each[Symbol.asyncDispose]()
})
