import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { endOfOperation, type Operation } from '#test/env/api/operations.ts'
import { showServer, unboundServer, untilStatus } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'

// Goal: the servers of a cell that disappears run again in another, by themselves and only after its hosts have stopped them.

const ROOT = '/federation/v1'
const FENCE_S = 30
const RECOVER_S = 60
/** Until the cell is given up, its hosts have stopped their guests for sure, and the servers are built. */
const FAILOVER_MS = 240_000

interface Cell {
  readonly recover_after_s: number | null
  readonly loss: { readonly by: string; readonly statement: string } | null
}

describe.skipIf(!isFullRun)('a cell with a failover', () => {
  let cloud: Cloud
  let demo: ApiClient
  let admin: ApiClient

  beforeAll(async () => {
    cloud = await startCloud({ cell: { CELL_FENCE_AFTER_S: String(FENCE_S) } })
    demo = cloud.as('demo')
    admin = cloud.as('admin')
  })
  afterAll(() => cloud?.[Symbol.asyncDispose]())

  const shown = async (name: string) => (await admin.get<Cell>(`${ROOT}/cells/${name}`)).body

  test(
    'that does not answer is given up, and its servers run in another with their ids',
    async () => {
      const { id } = await unboundServer(cloud, demo, 'north', { name: 'survivor' })
      const change = { recover_after_s: RECOVER_S }
      const { status } = await admin.call('PATCH', `${ROOT}/cells/north`, change)
      expect(status).toBe(200)
      expect(await shown('north')).toMatchObject(change)

      for (const each of cloud.cell('north').processes) await each.kill()
      await waitFor('the cell to be lost', async () => (await shown('north')).loss, FAILOVER_MS)
      const recovery = await waitFor(
        'the recovery',
        async () => {
          const path = `${ROOT}/operations`
          const { body } = await admin.get<{ operations: readonly Operation[] }>(path)
          return body.operations.find(({ kind }) => kind === 'cell-recovery')
        },
        FAILOVER_MS,
      )

      expect((await shown('north')).loss?.statement).toBe(
        `It did not answer for ${RECOVER_S} s. Its hosts stop their guests after ${FENCE_S} s without a gateway.`,
      )
      expect(await endOfOperation(admin, recovery.id)).toMatchObject({ state: 'done' })
      const server = await untilStatus(demo, id, 'ACTIVE')
      expect(server['OS-EXT-AZ:availability_zone']).toBe('south')
      expect((await showServer(admin, id))['name']).toBe('survivor')
      // One recovery, whatever the gateways do afterwards.
      expect(await shown('south')).toMatchObject({ loss: null })
    },
    3 * FAILOVER_MS,
  )
})
