import type { operations } from '#openapi/federation.gen.ts'
import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { type Listing, listView } from '../output/view.ts'

type Health = operations['showHealth']['responses']['200']['content']['application/json']

/** Shows the state of everything behind the endpoint; the command ends as `partial` where something is not ok. */
export async function showHealth(operator: Operator, options: ViewOptions): Promise<void> {
  await present(operator, options, async ({ federation }) => {
    const health = await federation.ask('get', '/v1/health')
    if (health.status !== 'ok') operator.endsAs('partial')
    return { ...listView(health.checks, CHECKS), data: health }
  })
}

const CHECKS: Listing<Health['checks'][number]> = {
  plural: 'checks',
  nameOf: ({ kind, name }) => `${kind} ${name}`,
  columns: [
    { head: 'STATUS', of: ({ status }) => status },
    { head: 'KIND', of: ({ kind }) => kind },
    { head: 'NAME', of: ({ name }) => name },
    { head: 'REASON', of: ({ reason }) => reason },
  ],
}
