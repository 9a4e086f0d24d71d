import type { operations } from '#openapi/federation.gen.ts'
import { findOperatedCell } from '../../../app/federation/cells.ts'
import { endOrphan as end } from '../../../app/federation/orphans.ts'
import type { Handler } from '../../../http/operation.ts'

/** DELETE /v1/cells/{cell}/orphans/{orphan} */
export const endOrphan: Handler<operations['endOrphan']> = async ({ app, context, params }) => {
  const cell = await findOperatedCell(app.db, app.compute.cells, params.cell)
  await end(app.compute, context, cell, params.orphan)
  return {}
}
