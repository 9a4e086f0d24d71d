import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { waitFor } from '#common/wait-for.ts'
import { resyncCell } from '#gateway/app/cells/resync-cell.ts'
import { activeServer, deleteServer, showServer } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'

const LIMIT_MS = 30_000

let cloud: Cloud
const owned = new AsyncDisposableStack()

beforeAll(async () => {
  cloud = owned.use(await startCloud({ gateways: 1, cells: 1, hostsPerCell: 1 }))
})

afterAll(() => owned.disposeAsync())

/** How many servers the gateway says are missing in a cell. */
async function missing(): Promise<number> {
  const text = await cloud.metrics('/federation')
  return Number(/^weir_index_missing_servers\{cell="north"\} (\d+)$/m.exec(text)?.[1] ?? Number.NaN)
}

const untilMissing = (count: number) =>
  waitFor(`${count} missing servers`, async () => (await missing()) === count, LIMIT_MS)

test('a server that its cell has forgotten is shown and counted, and can be deleted', async () => {
  const demo = cloud.as('demo')
  const lost = await activeServer(cloud, demo)
  const other = await activeServer(cloud, demo)
  const [cell] = cloud.cells
  const db = owned.use(new Database({ url: cell!.databaseUrl, connectionsMax: 1 }))
  const global = owned.use(new Database({ url: cloud.foundation.databaseUrl, connectionsMax: 1 }))
  await untilMissing(0)

  // As after a restore from a copy that is older than the server.
  for (const table of ['instances', 'operations'])
    await db.orm.execute(sql`delete from ${sql.identifier(table)} where server_id = ${lost.id}`)
  await resyncCell(global, cell!.name)
  await untilMissing(1)

  expect((await showServer(demo, lost.id)).status).toBe('ACTIVE')
  await deleteServer(demo, lost.id)
  await untilMissing(0)
  expect((await showServer(demo, other.id)).status).toBe('ACTIVE')
})
