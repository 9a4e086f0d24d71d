import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type CellId, type HostId, newId } from '#common/ids.ts'
import type { Logger } from '#common/log.ts'
import { storeIdentity } from '../../store-identity.ts'
import type { PoolCalls } from './pool-calls.ts'
import { Pools } from './pools.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'weir-pools-'))
})
afterEach(() => rm(directory, { recursive: true }))

const signal = () => AbortSignal.timeout(20_000)

/** A hypervisor with pools in folders, which says nothing of one of them until that `answers`. */
function calls(answers: Promise<void>, type = 'dir'): PoolCalls {
  const xml = `<pool type='${type}'><target><path>${directory}</path></target></pool>`
  return {
    async find(name) {
      if (name === 'folder') return { name, uuid: Buffer.alloc(16) }
      await answers
      return undefined
    },
    define: () => Promise.reject(new Error('not asked for')),
    xml: () => Promise.resolve(xml),
    isActive: () => Promise.resolve(true),
    start: () => Promise.resolve(),
    cephKey: () => Promise.reject(new Error('not asked for')),
    iscsiPassword: () => Promise.reject(new Error('not asked for')),
  }
}

test('the other pools work while one does not answer', async () => {
  const owner = { cellId: newId<CellId>(), hostId: newId<HostId>() }
  const settings = { names: ['silent', 'folder'], cephPrograms: undefined }
  const { promise: answers, resolve: answer } = Promise.withResolvers<void>()
  const pools = new Pools({ owner, stateDirectory: directory }, settings, calls(answers), undefined)

  const id = await storeIdentity(directory)
  expect(await pools.get(id, signal())).toMatchObject({ id, name: 'folder', engine: 'dir' })

  const other = pools.get(newId(), signal())
  answer()
  await expect(other).rejects.toMatchObject({ kind: 'unavailable' })
})

test.each(['fs', 'netfs'])('a pool of type %s that is not mounted is no store', async (type) => {
  const owner = { cellId: newId<CellId>(), hostId: newId<HostId>() }
  const settings = { names: ['folder'], cephPrograms: undefined }
  const told: object[] = []
  const logger = { warn: (fields: object) => told.push(fields) } as unknown as Logger
  const stateDirectory = join(directory, 'state')
  const daemon = calls(Promise.resolve(), type)
  const pools = new Pools({ owner, stateDirectory }, settings, daemon, logger)

  expect(await pools.reached(signal())).toEqual([])

  expect(await readdir(directory)).toEqual([])
  expect(told).toMatchObject([{ pool: 'folder' }])
  expect(JSON.stringify(told)).toContain(`Nothing is mounted at ${directory}`)
})
