import type { operations } from '#openapi/federation.gen.ts'
import { explainPlacement as explain } from '../../app/federation/explain-placement.ts'
import type { Handler } from '../../http/operation.ts'
import { decisionViews } from '../../views/federation/decision.ts'

/** POST /v1/placements */
export const explainPlacement: Handler<operations['explainPlacement']> = async (call) => {
  const { app, context, body } = call
  const { flavor, image, zone = null, host = null, project, networks, hints = {} } = body
  const question = { flavor, image, zone, host, project, networks, hints }
  const explained = await explain(app, context, question)
  return {
    body: {
      cell_id: explained.cell?.id ?? null,
      cell: explained.cell?.name ?? null,
      host: explained.host,
      decisions: decisionViews(explained.decisions),
    },
  }
}
