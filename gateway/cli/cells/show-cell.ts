import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { fieldsView } from '../output/view.ts'
import { cellListing } from './cell-listing.ts'

export async function showCell(
  operator: Operator,
  cell: string,
  options: ViewOptions,
): Promise<void> {
  await present(operator, options, async ({ federation }) => {
    const found = await federation.ask('get', '/v1/cells/{cell}', { path: { cell } })
    return fieldsView(found, cellListing(Date.now()))
  })
}
