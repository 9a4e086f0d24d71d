import { mkdtemp, rm, writeFile } from 'node:fs/promises'
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

const node = (name: string, change: Partial<EnrolledNode> = {}): EnrolledNode => {
  return { name, macAddress: '52:54:00:12:34:56', usesEfi: false, ...change }
}
const open = (...nodes: readonly EnrolledNode[]) =>
  NodePool.open(folder, nodes, secretsOf('ab'.repeat(32)))
const seen = (name: string, state: 'available' | 'active', instance: InstanceId | null = null) =>
  writeFile(join(folder, `${name}.json`), JSON.stringify({ ...NEW_NODE, state, instance, parts }))

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
