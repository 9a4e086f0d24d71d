import type { Operator } from '../operator.ts'
import { present } from '../output/present.ts'
import { findHost } from './find-host.ts'
import type { HostOptions } from './list-hosts.ts'
import { hostView } from './show-host.ts'

/** What was decided about a host. */
export interface Cordon {
  readonly is_cordoned: boolean
  readonly cordon_reason?: string
}

/** Afterwards it is decided so, and the host is shown. */
export async function cordonHost(
  operator: Operator,
  name: string,
  cordon: Cordon,
  options: HostOptions,
): Promise<void> {
  await present(operator, options, async (session) => {
    const { id: host } = await findHost(session, name, options.cell)
    const changed = await session.federation.ask('patch', '/v1/hosts/{host}', {
      path: { host },
      body: cordon,
    })
    return hostView(session, changed)
  })
}
