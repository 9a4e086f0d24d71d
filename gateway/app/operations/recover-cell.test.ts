import { inArray } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import { CoreEnv, orderFor, work } from '#test/env/compute-core.ts'
import type { ScriptedCell } from '#test/env/scripted-cell.ts'
import { beginCellRecovery, findCellRecovery } from '../../db/cell-recoveries.ts'
import { changeMove } from '../../db/drain-moves.ts'
import { findRequestSpec } from '../../db/request-specs.ts'
import { images } from '../../db/schema/image.ts'
import { instanceMappings } from '../../db/schema/servers.ts'
import type { RunningCompute } from '../open-compute.ts'
import { startServers } from '../servers/boot/start-servers.ts'
import type { Recovered } from './recovery-plan.ts'

// Goal: servers that cannot be built again keep none waiting that can be, and the recovery ends and says why they are left.

const LIMIT_MS = 30_000

let env: CoreEnv
let core: RunningCompute
let lost: ScriptedCell

beforeAll(async () => {
  env = await CoreEnv.open('recover_cell', ['lost', 'other'])
  core = await env.core()
  lost = env.cells[0]!
})
afterAll(async () => {
  await core?.[Symbol.asyncDispose]()
  await env?.[Symbol.asyncDispose]()
})

/** Servers that were taken from the lost cell, in order of their ids; only the image of the last is still there. */
async function takenServers(count: number): Promise<readonly string[]> {
  const order = orderFor(null, { count })
  const servers = order.servers.toSorted((a, b) => (a.row.id < b.row.id ? -1 : 1))
  for (const run of await startServers(core, work(), order)) await run.finished
  const ids = servers.map(({ row }) => row.id)
  await env.db.orm
    .update(instanceMappings)
    .set({ lostCellId: lost.id })
    .where(inArray(instanceMappings.serverId, ids))
  const { id, name, sizeBytes, sha256, diskFormat } = servers.at(-1)!.spec.image
  const now = new Date()
  await env.db.orm.insert(images).values({
    ...{ id, name, sizeBytes, sha256, md5: '0', sha512: '0', diskFormat },
    virtualSizeBytes: sizeBytes,
    ...{ status: 'active', visibility: 'public' },
    ...{ owner: 'p', minDiskGb: 0, minRamMb: 0, isProtected: false, isHidden: false },
    ...{ properties: {}, createdAt: now, updatedAt: now, revision: 1 },
  })
  return ids
}

/** A recovery that builds one at a time, and has tried these before, which cannot be built. */
async function begunAgain(hopeless: readonly string[]): Promise<string> {
  const { id: cellId, name: subject } = lost
  const asked = { cellId, subject, source: 'image', parallel: 1, reason: null } as const
  const longAgo = new Date(0)
  const tried: Omit<Recovered, 'serverId' | 'reason'> = {
    ...{ state: 'waiting', method: null, tries: 1, requestId: 'req-1' },
    ...{ notBefore: longAgo, startedAt: longAgo, endedAt: longAgo },
  }
  return env.db.transaction(async (tx) => {
    const id = await beginCellRecovery(tx, { ...asked, userId: 'operator', requestId: 'req-1' })
    for (const serverId of hopeless) {
      const image = (await findRequestSpec(tx, serverId))!.spec.image.id
      const reason = `Its image ${image} is gone, and no snapshot of it is there.`
      await changeMove(tx, id, undefined, { ...tried, serverId, reason })
    }
    return id
  })
}

test('servers that cannot be built keep no other waiting, and are why the recovery fails in the end', async () => {
  const ids = await takenServers(4)
  const id = await begunAgain(ids.slice(0, -1))

  await env.until(ids.at(-1)!, ({ vmState }) => vmState === 'active')

  const ended = await waitFor(
    'the recovery to end',
    async () => {
      const recovery = await findCellRecovery(env.db, id)
      return recovery?.state === 'running' ? undefined : recovery
    },
    LIMIT_MS,
  )
  expect(ended).toMatchObject({ state: 'failed', remaining: 3 })
  expect(ended.message).toMatch(/^3 servers are left\. vm-\d cannot be built: Its image .* is gone/)
})
