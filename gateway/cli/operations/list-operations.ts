import type { Operator } from '../operator.ts'
import { everyPage } from '../output/pages.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { listView } from '../output/view.ts'
import { type Operation, operationListing } from './operation-listing.ts'

export interface OperationOptions extends ViewOptions {
  readonly state?: Operation['state']
  readonly limit: number
}

export async function listOperations(operator: Operator, options: OperationOptions): Promise<void> {
  const { state, limit } = options
  const of = state === undefined ? {} : { state }
  await present(operator, options, async ({ federation }) => {
    const found = await everyPage(async (cursor) => {
      const query = { ...of, ...cursor }
      const page = await federation.ask('get', '/v1/operations', { query })
      return { items: page.operations, next: page.next }
    }, limit)
    return listView(found, operationListing(Date.now()))
  })
}
