import type { operations } from '#openapi/federation.gen.ts'
import { findOperatedCell, updateCell as update } from '../../../app/federation/cells.ts'
import { requireMatch } from '../../../http/entity-tag.ts'
import type { Handler } from '../../../http/operation.ts'
import { cellTag, cellView } from '../../../views/federation/cell.ts'

/** PATCH /v1/cells/{cell} */
export const updateCell: Handler<operations['updateCell']> = async (call) => {
  const { app, params, body, raw } = call
  const { cells } = app.compute
  const found = await findOperatedCell(app.db, cells, params.cell)
  requireMatch(raw.header('if-match'), cellTag(found))
  await update(app.db, found, {
    isEnabled: body.is_enabled,
    disabledReason: body.disabled_reason,
    weight: body.weight,
  })
  const cell = await findOperatedCell(app.db, cells, found.id)
  return { body: cellView(cell), headers: { ETag: cellTag(cell) } }
}
