import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { fieldsView } from '../output/view.ts'
import { operationListing } from './operation-listing.ts'

/** Afterwards it goes no further, and is shown. */
export async function cancelOperation(
  operator: Operator,
  operation: string,
  options: ViewOptions,
): Promise<void> {
  await present(operator, options, async ({ federation }) => {
    const path = { operation }
    const ended = await federation.ask('post', '/v1/operations/{operation}/cancel', { path })
    return fieldsView(ended, operationListing(Date.now()))
  })
}
