import type { InstanceId } from '#common/ids.ts'
import type { BaremetalHost } from './host.ts'
import { cleanNode } from './nodes/clean-node.ts'
import { powerOff } from './power.ts'

/** Afterwards the machine is free and holds nothing of the instance. A spawn under way is ended first. */
export async function destroy(
  host: BaremetalHost,
  id: InstanceId,
  signal: AbortSignal,
): Promise<void> {
  await host.locks.runDestroy(id, signal, () => removeInstance(host, id, signal))
}

/** The same under a lock that the caller holds. It takes as long as the machine's disks take to be written over. */
export async function removeInstance(
  host: BaremetalHost,
  id: InstanceId,
  signal: AbortSignal,
): Promise<void> {
  const node = host.nodes.holding(id)
  if (node === undefined) return
  await host.lines.stop(id)
  if (node.record.state !== 'cleaning') {
    await powerOff(host, node, 0, signal)
    await host.nodes.move(node, 'release')
  }
  await host.lines.log(id).remove()
  await host.liveBoots.remove(id)
  await cleanNode(host, node, signal)
}
