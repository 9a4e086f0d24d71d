import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { fieldsView } from '../output/view.ts'
import { operationListing } from './operation-listing.ts'

export async function showOperation(
  operator: Operator,
  operation: string,
  options: ViewOptions,
): Promise<void> {
  await present(operator, options, async ({ federation }) => {
    const path = { operation }
    const found = await federation.ask('get', '/v1/operations/{operation}', { path })
    return fieldsView(found, operationListing(Date.now()))
  })
}
