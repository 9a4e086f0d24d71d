import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { listView } from '../output/view.ts'
import { cellListing } from './cell-listing.ts'

/** Shows every cell; the command ends as `partial` where one is unreachable. */
export async function listCells(operator: Operator, options: ViewOptions): Promise<void> {
  await present(operator, options, async ({ federation }) => {
    const { cells } = await federation.ask('get', '/v1/cells')
    if (cells.some(({ is_reachable }) => !is_reachable)) operator.endsAs('partial')
    return listView(cells, cellListing(Date.now()))
  })
}
