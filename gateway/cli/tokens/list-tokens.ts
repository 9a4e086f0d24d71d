import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { listView } from '../output/view.ts'
import { tokenListing } from './token-listing.ts'

export async function listTokens(operator: Operator, options: ViewOptions): Promise<void> {
  await present(operator, options, async ({ federation }) => {
    const { tokens } = await federation.ask('get', '/v1/tokens')
    return listView(tokens, tokenListing(Date.now()))
  })
}
