import { setTimeout as sleep } from 'node:timers/promises'
import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { IronicHost } from './host.ts'
import { type IronicNode, isUnderWay } from './ironic-node.ts'

const ASK_EVERY_MS = 500

/** The nodes that servers of this host have. */
export async function heldNodes(
  { client, owner }: IronicHost,
  signal: AbortSignal,
): Promise<readonly IronicNode[]> {
  const nodes = await client.nodes(signal)
  return nodes.filter(
    ({ extra: { weir } }) => weir?.cell === owner.cellId && weir.host === owner.hostId,
  )
}

/** The node that the server has. */
export async function findHeld(
  host: IronicHost,
  id: InstanceId,
  signal: AbortSignal,
): Promise<IronicNode | undefined> {
  return (await heldNodes(host, signal)).find(({ extra: { weir } }) => weir?.instance === id)
}

/** As `findHeld`; throws `not-found`. */
export async function getHeld(
  host: IronicHost,
  id: InstanceId,
  signal: AbortSignal,
): Promise<IronicNode> {
  const node = await findHeld(host, id, signal)
  if (node !== undefined) return node
  throw new Failure('not-found', `Instance ${id} is not on this host.`)
}

/** The node once it is as wanted. Throws `unavailable` when it is not within `limitMs`. */
export async function untilNode(
  { client }: IronicHost,
  uuid: string,
  isWanted: (node: IronicNode) => boolean,
  limitMs: number,
  signal: AbortSignal,
): Promise<IronicNode> {
  const deadline = performance.now() + limitMs
  for (;;) {
    const node = await client.node(uuid, signal)
    if (isWanted(node)) return node
    if (performance.now() >= deadline)
      throw new Failure('unavailable', 'Ironic is still working on the machine.', {
        detail: `node ${uuid} is ${node.provision_state}: ${node.last_error ?? 'no error'}`,
      })
    await sleep(ASK_EVERY_MS, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}

export function isSettled(node: IronicNode): boolean {
  return !isUnderWay(node) && node.reservation === null
}

/** The node once nothing is being done to it. Throws as `untilNode`. */
export function settledNode(
  host: IronicHost,
  uuid: string,
  signal: AbortSignal,
): Promise<IronicNode> {
  return untilNode(host, uuid, isSettled, host.deployMs, signal)
}
