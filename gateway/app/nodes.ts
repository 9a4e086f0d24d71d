import type { WorkContext } from '#common/context.ts'
import { Failure } from '#common/errors.ts'
import type { HostId } from '#common/ids.ts'
import type { DirectAnswer, DirectAsk } from '#openapi/wire/direct.ts'
import type { NewNode, NodeOperation, NodeView } from '#openapi/wire/node.ts'
import type { ComputeDeps } from './compute.ts'
import { findOperatedHost } from './federation/hosts.ts'
import { reachable } from './hosts/host-state.ts'

export type NodeDeps = Pick<ComputeDeps, 'db' | 'cells' | 'askHost'>

/**
 * Asks a host about its machines, of which it alone knows. Throws `not-found`; `unavailable` while it cannot be asked;
 * `unsupported` for one that keeps no machines; and what the host throws.
 */
export async function askNodes<O extends NodeOperation>(
  { db, cells, askHost }: NodeDeps,
  work: WorkContext,
  hostId: string,
  operation: O,
  ask: DirectAsk<O>,
): Promise<DirectAnswer<O>> {
  const { cellId, view } = await findOperatedHost(db, hostId)
  const cell = reachable(cells.cell(cellId))
  return askHost(cell, view.hostId as HostId, operation, ask, work)
}

/** Throws as `askNodes`, and `not-found` for a machine that the host does not have. */
export async function findNode(
  deps: NodeDeps,
  work: WorkContext,
  hostId: string,
  name: string,
): Promise<NodeView> {
  const { nodes } = await askNodes(deps, work, hostId, 'node-list', {})
  const node = nodes.find((one) => one.name === name)
  if (node !== undefined) return node
  throw new Failure('not-found', `There is no node ${name} on this host.`)
}

/** Afterwards the host has the machine. Throws as `askNodes`. */
export async function addNode(
  deps: NodeDeps,
  work: WorkContext,
  hostId: string,
  node: NewNode,
): Promise<NodeView> {
  // Labels and BMCs show them in capitals; what boots from the network says them in small letters.
  const lower = <N extends { readonly macAddress: string }>(nic: N) => {
    return { ...nic, macAddress: nic.macAddress.toLowerCase() }
  }
  const { nics } = node
  const ask = { ...lower(node), ...(nics && { nics: nics.map(lower) }) }
  return askNodes(deps, work, hostId, 'node-add', ask)
}
