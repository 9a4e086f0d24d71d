import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { listView } from '../output/view.ts'
import { cellListing } from './cell-listing.ts'

export async function listCells(operator: Operator, options: ViewOptions): Promise<void> {
  await present(operator, options, async ({ federation }) => {
    const { cells } = await federation.ask('get', '/v1/cells')
    return listView(cells, cellListing(Date.now()))
  })
}
