import { openSession } from '../cloud/session.ts'
import type { Operator } from '../operator.ts'
import { findNode } from './find-node.ts'
import type { NodeOptions } from './machine-hosts.ts'

/** Afterwards the host does not have the machine. Throws `conflict` while a server has it. */
export async function removeNode(
  operator: Operator,
  name: string,
  options: NodeOptions,
): Promise<void> {
  const session = await openSession(operator, options)
  const { path, host } = await findNode(operator, session, name, options)
  await session.federation.ask('delete', '/v1/hosts/{host}/nodes/{node}', { path })
  operator.err.write(`Host ${host.name} does not have node ${name} any more.\n`)
}
