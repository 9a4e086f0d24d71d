import type { operations } from '#openapi/federation.gen.ts'
import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { fieldsView } from '../output/view.ts'
import { cellListing } from './cell-listing.ts'

type Change = operations['updateCell']['requestBody']['content']['application/json']

/** Afterwards it is decided so, and the cell is shown. */
export async function updateCell(
  operator: Operator,
  cell: string,
  change: Change,
  options: ViewOptions,
): Promise<void> {
  await present(operator, options, async ({ federation }) => {
    const changed = await federation.ask('patch', '/v1/cells/{cell}', {
      path: { cell },
      body: change,
    })
    return fieldsView(changed, cellListing(Date.now()))
  })
}
