import type { operations } from '#openapi/federation.gen.ts'
import { findOperatedCell } from '../../../app/federation/cells.ts'
import { declareLost } from '../../../app/federation/declare-lost.ts'
import { requireMatch } from '../../../http/entity-tag.ts'
import type { Handler } from '../../../http/operation.ts'
import { cellTag, cellView } from '../../../views/federation/cell.ts'

/** POST /v1/cells/{cell}/lost */
export const declareCellLost: Handler<operations['declareCellLost']> = async (call) => {
  const { app, context, params, body, raw } = call
  const { cells } = app.compute
  const found = await findOperatedCell(app.db, cells, params.cell)
  requireMatch(raw.header('if-match'), cellTag(found))
  const { statement } = body
  await declareLost({ db: app.db, access: app.access, clock: app.compute.clock }, found, {
    by: context.userId,
    statement,
  })
  await cells.refresh()
  const cell = await findOperatedCell(app.db, cells, found.id)
  return { body: cellView(cell), headers: { ETag: cellTag(cell) } }
}
