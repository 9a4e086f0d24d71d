import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { listView } from '../output/view.ts'
import { CACHED_IMAGE_LISTING } from './cached-image-listing.ts'

/** Shows the cells whose cache has an image; the command ends as partial where some could not be asked. */
export async function listCaches(
  operator: Operator,
  image: string,
  options: ViewOptions,
): Promise<void> {
  await present(operator, options, async ({ federation }) => {
    const answer = await federation.ask('get', '/v1/images/{image}/caches', { path: { image } })
    for (const { cell, reason } of answer.unreachable) {
      operator.endsAs('partial')
      operator.err.write(`weir: ${cell} cannot be asked: ${reason}\n`)
    }
    return listView(answer.caches, CACHED_IMAGE_LISTING)
  })
}
