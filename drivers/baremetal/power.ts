import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import { errorFields } from '#common/log.ts'
import type { RebootKind } from '../driver.ts'
import { powerDown } from '../machine-power.ts'
import { pollRepeatedly } from '../power-watch.ts'
import type { BaremetalHost } from './host.ts'
import type { Node } from './nodes/node.ts'

/** Afterwards the machine runs. */
export async function start(
  host: BaremetalHost,
  id: InstanceId,
  signal: AbortSignal,
): Promise<void> {
  await host.locks.run(id, signal, () => powerOn(host, activeNode(host, id), signal))
}

/** Afterwards the machine is off. */
export async function stop(
  host: BaremetalHost,
  id: InstanceId,
  graceMs: number,
  signal: AbortSignal,
): Promise<void> {
  await host.locks.run(id, signal, () => powerOff(host, host.nodes.get(id), graceMs, signal))
}

/** Afterwards the machine has started again. */
export async function reboot(
  host: BaremetalHost,
  id: InstanceId,
  request: { readonly how: RebootKind; readonly graceMs: number },
  signal: AbortSignal,
): Promise<void> {
  await host.locks.run(id, signal, async () => {
    const node = activeNode(host, id)
    await bootAsMeant(host, node, signal)
    if (request.how === 'soft') await powerDown(node.power, request.graceMs, signal)
    if (await node.power.isOn(signal)) await node.power.reset(signal)
    else await node.power.on(signal)
    await sawPower(host, node, true)
  })
}

/** Afterwards the machine runs. The caller holds the instance's lock. */
export async function powerOn(host: BaremetalHost, node: Node, signal: AbortSignal): Promise<void> {
  await bootAsMeant(host, node, signal)
  await node.power.on(signal)
  await sawPower(host, node, true)
}

/** Afterwards the machine is off. The caller holds the instance's lock. */
export async function powerOff(
  host: BaremetalHost,
  node: Node,
  graceMs: number,
  signal: AbortSignal,
): Promise<void> {
  await powerDown(node.power, graceMs, signal)
  await sawPower(host, node, false)
}

/** Afterwards the machine boots from its disk from now on, or from what its server has in place of one. */
async function bootAsMeant(
  { liveBoots }: BaremetalHost,
  { management, record: { instance } }: Node,
  signal: AbortSignal,
): Promise<void> {
  const boot = instance === null ? undefined : await liveBoots.find(instance)
  await management.bootFrom(boot === undefined ? 'disk' : 'network', signal)
}

/** Throws `not-found`, `conflict` while the machine has no whole disk. */
function activeNode({ nodes }: BaremetalHost, id: InstanceId): Node {
  const node = nodes.get(id)
  if (node.record.state === 'active') return node
  throw new Failure('conflict', `Instance ${id} has no disk to boot from yet.`)
}

/** Asks the machines of all servers, again and again, until aborted. */
export function watchPower(host: BaremetalHost, signal: AbortSignal): Promise<void> {
  const pollAll = () => Promise.all(host.nodes.all().map((node) => poll(host, node, signal)))
  return pollRepeatedly(pollAll, signal)
}

/** A node with work under way is reported by that work. */
async function poll(host: BaremetalHost, node: Node, signal: AbortSignal): Promise<void> {
  const { instance, state } = node.record
  if (instance === null || state !== 'active') return
  try {
    await host.locks.runIfFree(instance, signal, async () => {
      const isOn = await node.power.isOn(signal)
      if (node.record.instance === instance) await sawPower(host, node, isOn)
    })
  } catch (error) {
    if (!signal.aborted)
      host.logger?.debug({ ...errorFields(error), node: node.name }, 'BMC silent')
  }
}

/** Records and reports that the node's server runs, or is off; the console of a machine that is off is closed. */
async function sawPower(host: BaremetalHost, node: Node, isOn: boolean): Promise<void> {
  const { instance, isOn: wasOn } = node.record
  if (instance === null) return
  if (!isOn) host.lines.get(instance)?.hangUp()
  if (wasOn === isOn) return
  await host.nodes.sawPower(node, isOn)
  const report = { id: instance, powerState: isOn ? 'running' : 'shutdown' } as const
  for (const listener of host.listeners) listener(report)
}
