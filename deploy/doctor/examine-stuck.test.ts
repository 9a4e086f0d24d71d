import { expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { type CellId, newId } from '#common/ids.ts'
import type { ShownSaga } from '#common/saga/stuck.ts'
import { keepCellSagas } from '#gateway/db/cell-sagas.ts'
import { freshDatabase } from '#test/env/fresh-database.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { examineStuck } from './examine-stuck.ts'

const DEPLOYMENT = { gateways: [{ name: 'gateway-1', port: 1 }], cells: [{ name: 'north' }] }

test('a stuck saga of a cell is shown with the command that continues it', async () => {
  const url = await migratedDatabase('doctor_stuck', 'gateway')
  const asked: string[] = []
  const examine = () => examineStuck(DEPLOYMENT, (name) => (asked.push(name), url))

  expect(await examine()).toMatchObject({ is: 'ok' })

  const now = new Date()
  const shown = { name: 'boot', subject: newId<string>(), why: null, requestId: null }
  const stuck: ShownSaga = { ...shown, id: newId(), state: 'stuck', startedAt: now, endedAt: now }
  {
    await using db = new Database({ url, connectionsMax: 1 })
    await db.transaction((tx) => keepCellSagas(tx, newId<CellId>(), [stuck]))
  }
  const finding = await examine()
  expect(finding.is).toBe('bad')
  expect(finding.what).toContain('stuck operations: 1 (./weir operation list --state failed')
  expect(new Set(asked)).toEqual(new Set(['weir']))
})

test('the database of a cell elsewhere is read, and one that cannot be read is reported', async () => {
  const url = await migratedDatabase('doctor_stuck_cell', 'cells')
  const joined = { gateways: [], cells: [{ name: 'far-north' }] }
  const asked: string[] = []

  expect(await examineStuck(joined, (name) => (asked.push(name), url))).toMatchObject({ is: 'ok' })
  expect(asked).toEqual(['weir_cell_far_north'])

  const empty = await freshDatabase('doctor_stuck_empty')
  expect(await examineStuck(joined, () => empty)).toMatchObject({ is: 'bad' })
})
