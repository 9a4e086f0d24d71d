import type { InstanceId } from '#common/ids.ts'
import { detachVifs } from './attach-vifs.ts'
import type { Patch } from './client.ts'
import { findHeld, isSettled, settledNode, untilNode } from './held-node.ts'
import type { IronicHost } from './host.ts'
import type { IronicNode } from './ironic-node.ts'

/** In this state ironic waits for the ramdisk of a node, and lets who has it give it up. */
const WAITING = 'wait call-back'
/** From these ironic takes a node's instance away. */
const HELD_STATES = ['active', 'deploy failed', 'error', 'rescue', 'rescue failed', WAITING]

/** Afterwards the node is ironic's again, cleaned as ironic does. A spawn under way is ended first. */
export async function destroy(
  host: IronicHost,
  id: InstanceId,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted()
  await host.locks.runDestroy(id, signal, () => removeInstance(host, id, signal))
}

/** The same under a lock that the caller holds. It takes as long as ironic takes to clean. */
export async function removeInstance(
  host: IronicHost,
  id: InstanceId,
  signal: AbortSignal,
): Promise<void> {
  const held = await findHeld(host, id, signal)
  if (held === undefined) return
  let node = await untilNode(host, held.uuid, isLeft, host.deployMs, signal)
  if (HELD_STATES.includes(node.provision_state ?? '')) {
    await host.client.provision(node.uuid, { target: 'deleted' }, signal)
    node = await settledNode(host, node.uuid, signal)
  }
  if (node.provision_state !== 'available')
    host.logger?.error(
      { node: node.uuid, state: node.provision_state, error: node.last_error },
      'machine could not be cleaned',
    )
  await detachVifs(host, node.uuid, signal)
  await host.client.patch(node.uuid, forgotten(node, id), signal)
  host.lastReported.delete(id)
}

/** No work is under way on the node. */
function isLeft(node: IronicNode): boolean {
  return isSettled(node) || (node.provision_state === WAITING && node.reservation === null)
}

/** Last, so that a repeated destroy finds the node. */
function forgotten({ instance_uuid }: IronicNode, id: InstanceId): readonly Patch[] {
  const claim: Patch[] = instance_uuid === id ? [{ op: 'remove', path: '/instance_uuid' }] : []
  return [...claim, { op: 'remove', path: '/extra/weir' }]
}
