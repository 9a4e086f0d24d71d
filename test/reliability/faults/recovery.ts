import { setTimeout as sleep } from 'node:timers/promises'
import { type Actor, boot, destroy, show } from '../users/server-steps.ts'
import type { GatewayAddress, Session } from '../users/session.ts'

export interface Probe {
  readonly admin: Session
  readonly actor: Actor
  readonly gateways: readonly GatewayAddress[]
  /** Availability zones, one per cell. */
  readonly zones: readonly string[]
  readonly hosts: number
}

const EVERY_MS = 150

/**
 * Resolves once all serves again: each gateway knows every host to be up, and a server asked for in each cell, through
 * one gateway and the other, is ACTIVE. Gives up at the signal.
 */
export async function whenServing(probe: Probe, signal: AbortSignal): Promise<void> {
  const { gateways, zones } = probe
  await Promise.all([
    ...gateways.map((gateway) => untilHostsUp(probe, gateway, signal)),
    ...zones.map((zone, nth) =>
      untilBooted(probe.actor, zone, gateways[nth % gateways.length]!, signal),
    ),
  ])
}

async function untilHostsUp(
  { admin, hosts }: Probe,
  gateway: GatewayAddress,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const call = { method: 'GET', path: '/compute/v2.1/os-services?binary=nova-compute' } as const
    const { status, body } = await admin.call(call, gateway)
    const { services = [] } = (body ?? {}) as { services?: readonly { state: string }[] }
    if (status === 200 && services.filter(({ state }) => state === 'up').length === hosts) return
    await sleep(EVERY_MS)
  }
}

async function untilBooted(
  actor: Actor,
  zone: string,
  gateway: GatewayAddress,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const id = await boot(actor, { zone, gateway })
    const isActive = id !== undefined && (await untilActive(actor, id, signal))
    if (id !== undefined) await destroy(actor, id)
    if (isActive) return
    await sleep(EVERY_MS)
  }
}

/** False where it ended in another way. */
async function untilActive(actor: Actor, id: string, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    const status = (await show(actor, id))?.status
    if (status === 'ACTIVE') return true
    if (status !== undefined && status !== 'BUILD') return false
    await sleep(EVERY_MS)
  }
  return false
}
