import type { components } from '#openapi/federation.gen.ts'
import type { HostOptions } from '../hosts/hosts.ts'
import type { Operator } from '../operator.ts'
import { present } from '../output/present.ts'
import { type Listing, listView } from '../output/view.ts'

const LISTING: Listing<components['schemas']['ImageCopy']> = {
  plural: 'copies',
  nameOf: ({ host }) => host,
  columns: [
    { head: 'CELL', of: ({ cell }) => cell },
    { head: 'HOST', of: ({ host }) => host },
    { head: 'BYTES', of: ({ size_bytes }) => size_bytes },
    { head: 'NAME IN CLOUD', of: ({ name }) => name },
  ],
}

/** Shows the hosts that have an image; the command ends as partial where some could not be asked. */
export async function listCopies(
  operator: Operator,
  image: string,
  options: HostOptions,
): Promise<void> {
  await present(operator, options, async ({ federation }) => {
    const { cell } = options
    const answer = await federation.ask('get', '/v1/images/{image}/copies', {
      path: { image },
      query: cell === undefined ? {} : { cell },
    })
    for (const { host, reason } of answer.unreachable) {
      operator.endsAs('partial')
      operator.err.write(`weir: ${host} cannot be asked: ${reason}\n`)
    }
    return listView(answer.copies, LISTING)
  })
}
