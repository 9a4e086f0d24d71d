import { Failure } from '#common/errors.ts'
import type { Operator } from '../operator.ts'
import { present } from '../output/present.ts'
import { fieldsView } from '../output/view.ts'
import { findNode } from './find-node.ts'
import { hostNames, type NodeOptions } from './machine-hosts.ts'
import { nodeListing } from './node-listing.ts'

export interface MaintenanceOptions extends NodeOptions {
  readonly reason?: string
  readonly off?: true
}

/** Afterwards no further server gets the machine, or servers may get it again. */
export async function maintainNode(
  operator: Operator,
  name: string,
  options: MaintenanceOptions,
): Promise<void> {
  const { reason, off } = options
  if ((reason === undefined) === (off === undefined))
    throw new Failure('invalid', "Say why: --reason 'a fan'. Or that it is over: --off.")
  await present(operator, options, async (session) => {
    const { path, host } = await findNode(operator, session, name, options)
    const body = { maintenance: reason ?? null }
    const at = '/v1/hosts/{host}/nodes/{node}'
    const node = await session.federation.ask('patch', at, { path, body })
    return fieldsView(node, nodeListing(hostNames([host])))
  })
}
