import { Failure } from '#common/errors.ts'
import type { Session } from '../cloud/session.ts'
import type { Host } from '../hosts/host-listing.ts'
import type { Operator } from '../operator.ts'
import { machineHosts, type NodeOptions } from './machine-hosts.ts'
import { nodesOf } from './nodes-of.ts'

/** A machine, as paths name it, and its host. */
export interface FoundNode {
  readonly path: { readonly host: string; readonly node: string }
  readonly host: Host
}

/** The machine of this name. Throws `not-found`, and `conflict` where several hosts have one. */
export async function findNode(
  operator: Operator,
  session: Session,
  name: string,
  options: NodeOptions,
): Promise<FoundNode> {
  const hosts = await machineHosts(session, options)
  const nodes = await nodesOf(operator, session, hosts)
  const [found, ...others] = nodes.filter((node) => node.name === name)
  if (found === undefined)
    throw new Failure('not-found', `There is no node ${name}. See: ./weir node list`)
  if (others.length > 0)
    throw new Failure('conflict', `Several hosts have a node ${name}. Add --host.`)
  const host = hosts.find(({ id }) => id === found.host_id)!
  return { path: { host: found.host_id, node: name }, host }
}
