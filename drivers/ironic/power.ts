import { Failure, isFailure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import { errorFields } from '#common/log.ts'
import type { PowerState } from '#common/states/instance-states.ts'
import type { RebootKind } from '../driver.ts'
import { pollRepeatedly } from '../power-watch.ts'
import { getHeld, heldNodes, untilNode } from './held-node.ts'
import type { IronicHost } from './host.ts'
import { type IronicNode, isUnderWay } from './ironic-node.ts'
import { reportOf } from './list.ts'

/** Machines take seconds, and ironic asks their BMCs seldom. */
const SWITCH_MS = 120_000
const MS_PER_S = 1_000

/** Afterwards the machine runs. */
export async function start(host: IronicHost, id: InstanceId, signal: AbortSignal): Promise<void> {
  await host.locks.run(id, signal, async () =>
    powerOn(host, await activeNode(host, id, signal), signal),
  )
}

/** Afterwards the machine is off. */
export async function stop(
  host: IronicHost,
  id: InstanceId,
  graceMs: number,
  signal: AbortSignal,
): Promise<void> {
  await host.locks.run(id, signal, async () =>
    powerOff(host, await getHeld(host, id, signal), graceMs, signal),
  )
}

/** Afterwards the machine has started again. */
export async function reboot(
  host: IronicHost,
  id: InstanceId,
  request: { readonly how: RebootKind; readonly graceMs: number },
  signal: AbortSignal,
): Promise<void> {
  await host.locks.run(id, signal, async () => {
    const node = await activeNode(host, id, signal)
    await powerOff(host, node, request.how === 'soft' ? request.graceMs : 0, signal)
    await powerOn(host, node, signal)
  })
}

/** Afterwards the machine runs. The caller holds the instance's lock. */
export async function powerOn(
  host: IronicHost,
  node: IronicNode,
  signal: AbortSignal,
): Promise<void> {
  await turn(host, node, { target: 'power on' }, signal)
}

/** Afterwards the machine is off: asked first, cut off after `graceMs`. The caller holds the instance's lock. */
export async function powerOff(
  host: IronicHost,
  node: IronicNode,
  graceMs: number,
  signal: AbortSignal,
): Promise<void> {
  if (graceMs > 0) {
    const timeout = Math.ceil(graceMs / MS_PER_S)
    try {
      return await turn(host, node, { target: 'soft power off', timeout }, signal)
    } catch (error) {
      // Not every BMC can ask, and not every machine listens.
      if (!isFailure(error, 'invalid', 'unavailable')) throw error
    }
  }
  await turn(host, node, { target: 'power off' }, signal)
}

async function turn(
  host: IronicHost,
  { uuid, extra }: IronicNode,
  body: { readonly target: string; readonly timeout?: number },
  signal: AbortSignal,
): Promise<void> {
  const wanted = body.target === 'power on' ? 'power on' : 'power off'
  const isIt = (node: IronicNode) => node.power_state === wanted && node.target_power_state === null
  const limitMs = body.timeout === undefined ? SWITCH_MS : body.timeout * MS_PER_S + SWITCH_MS / 2
  if (!isIt(await host.client.node(uuid, signal))) {
    await host.client.power(uuid, body, signal)
    const isOver = (node: IronicNode) => isIt(node) || hasFailed(node)
    const node = await untilNode(host, uuid, isOver, limitMs, signal)
    if (!isIt(node))
      throw new Failure('unavailable', `The machine does not go ${wanted.slice(6)}.`, {
        detail: node.last_error ?? '',
      })
  }
  reportPower(
    host,
    extra.weir!.instance as InstanceId,
    wanted === 'power on' ? 'running' : 'shutdown',
  )
}

/** Ironic has given up, and nothing is under way. */
function hasFailed({ target_power_state, reservation, last_error }: IronicNode): boolean {
  return target_power_state === null && reservation === null && last_error !== null
}

/** Throws `not-found`, `conflict` while the machine has no whole disk. */
async function activeNode(
  host: IronicHost,
  id: InstanceId,
  signal: AbortSignal,
): Promise<IronicNode> {
  const node = await getHeld(host, id, signal)
  if (node.provision_state === 'active') return node
  throw new Failure('conflict', `Instance ${id} has no disk to boot from yet.`)
}

/** Asks ironic for all of its nodes, again and again, until aborted. */
export function watchPower(host: IronicHost, signal: AbortSignal): Promise<void> {
  const pollAll = () =>
    poll(host, signal).catch((error: unknown) => {
      if (!signal.aborted) host.logger?.debug(errorFields(error), 'ironic silent')
    })
  return pollRepeatedly(pollAll, signal)
}

/** A node with work under way is reported by that work. */
async function poll(host: IronicHost, signal: AbortSignal): Promise<void> {
  for (const held of await heldNodes(host, signal)) {
    const { id } = reportOf(held)
    await host.locks.runIfFree(id, signal, async () => {
      const node = await host.client.node(held.uuid, signal)
      if (node.extra.weir?.instance !== id || isUnderWay(node)) return
      reportPower(host, id, reportOf(node).powerState)
    })
  }
}

/** Reports to every listener that the instance runs, or is off, unless it was reported so last. */
function reportPower(
  { lastReported, listeners }: IronicHost,
  id: InstanceId,
  powerState: PowerState,
): void {
  if (lastReported.get(id) === powerState) return
  lastReported.set(id, powerState)
  for (const listener of listeners) listener({ id, powerState })
}
