import type { operations } from '#openapi/federation.gen.ts'
import { findOperatedCell } from '../../../app/federation/cells.ts'
import { declareLost } from '../../../app/federation/declare-lost.ts'
import { idempotencyKey } from '../../../app/idempotency-key.ts'
import { madeBefore } from '../../../app/once-per-key.ts'
import { requireMatch } from '../../../http/entity-tag.ts'
import type { Handler } from '../../../http/operation.ts'
import { cellTag, cellView } from '../../../views/federation/cell.ts'

/** POST /v1/cells/{cell}/lost */
export const declareCellLost: Handler<operations['declareCellLost']> = async (call) => {
  const { app, context, params, body, raw } = call
  const { cells } = app.compute
  const found = await findOperatedCell(app.db, cells, params.cell)
  const key = idempotencyKey(context, raw.header('idempotency-key'), [raw.path, body])
  // A repeat names the cell as it was before.
  if ((await madeBefore(app.db, key)) === undefined)
    requireMatch(raw.header('if-match'), cellTag(found))
  const { db, access } = app
  const loss = { by: context.userId, statement: body.statement }
  await declareLost({ db, access, clock: app.compute.clock }, found, loss, key)
  await cells.refresh()
  const cell = await findOperatedCell(app.db, cells, found.id)
  return { body: cellView(cell), headers: { ETag: cellTag(cell) } }
}
