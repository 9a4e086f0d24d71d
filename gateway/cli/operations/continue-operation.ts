import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { fieldsView } from '../output/view.ts'
import { operationListing } from './operation-listing.ts'

/** Afterwards a stuck one goes on, and is shown. */
export async function continueOperation(
  operator: Operator,
  operation: string,
  options: ViewOptions,
): Promise<void> {
  await present(operator, options, async ({ federation }) => {
    const path = { operation }
    const going = await federation.ask('post', '/v1/operations/{operation}/continue', { path })
    return fieldsView(going, operationListing(Date.now()))
  })
}
