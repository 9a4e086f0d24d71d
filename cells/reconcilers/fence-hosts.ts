import { isFailure } from '#common/errors.ts'
import type { HostId } from '#common/ids.ts'
import { errorFields } from '#common/log.ts'
import { forEachRow, type Reconciler } from '#common/reconciler.ts'
import { HeldLease } from '#common/saga/lease.ts'
import type { Cell } from '../cell.ts'
import { deviceName, type FenceDeviceSettings, openDevice } from '../fencing/fence-device.ts'
import { type FencingSettings, WatchedFenceDevices } from '../fencing/fence-devices.ts'
import { type FenceableHost, planFencing } from '../fencing/fencing-plan.ts'
import { SelfFencing } from '../fencing/self-fencing.ts'
import { changeHost } from '../hosts/change-host.ts'
import type { Host } from '../hosts/host.ts'
import { notifySiblings } from '../hosts/notify-siblings.ts'

const EVERY_MS = 2_000
const LEASE = { name: 'host-fencing', ttlMs: 10_000 } as const
/** A device may be busy for as long as its machine takes to stop. */
const SWITCH_LIMIT_MS = 180_000
/** A process that stood still for longer may have reports of its hosts before it that it has not read. */
const GAP_MS = 3 * EVERY_MS
/** A device that could not be used is asked again after so long. */
const AGAIN_MS = 10_000

const STOPS_ITSELF =
  'It has no fence device: the cell has left it alone, so that it stops its guests by itself, and waits until it has.'

/**
 * Powers off hosts with servers that do not answer, by their fence devices, and declares them down once the device says that
 * the machine is off; those without a device once they have stopped their guests by themselves, where they do. A host that
 * cannot be fenced shows why. One process of the cell does so.
 */
export function fenceHosts(cell: Cell, holder: string, settings: FencingSettings): Reconciler {
  const { db, hosts, clock, log } = cell.conductor
  const lease = new HeldLease(db, clock, { ...LEASE, holder })
  const devices = new WatchedFenceDevices(settings)
  const { stopsItselfAfterMs } = settings
  const selfFencing = new SelfFencing(clock, stopsItselfAfterMs ?? 0)
  const triedAt = new Map<HostId, number>()
  let roundAt = clock.elapsed()
  let calmSince = roundAt
  return {
    name: 'fence-hosts',
    everyMs: EVERY_MS,
    round: async (signal) => {
      const now = clock.elapsed()
      if (now - roundAt > GAP_MS) hosts.restartSilence()
      roundAt = now
      // Also where another process fences: this one may have to go on.
      selfFencing.observe(hosts.all(), hosts.readAgeMs)
      if ((await lease.hold()) === undefined) return {}
      const known = devices.read()
      const { afterMs, hostsMax } = settings
      const { downAfterMs } = hosts
      const plan = planFencing(
        hosts.all().map((host) => ({
          ...host,
          silentMs: hosts.silentMs(host.id),
          servers: host.provider?.instances ?? 0,
          isDeviceOfOther: host.fenceDevice?.isOfOther === true,
        })),
        {
          ...{ afterMs, hostsMax, downAfterMs, calmMs: now - calmSince },
          hasDevice: (name) => known.has(name),
          stopThemselves: stopsItselfAfterMs !== undefined,
        },
      )
      if (plan.isHeld) calmSince = now
      for (const { host, reason } of plan.held) await showProblem(cell, host, reason)
      for (const host of plan.fence.filter(({ name }) => !known.has(name)))
        await leaveAlone(cell, host, selfFencing)
      const due = plan.fence.filter(({ id, name }) => {
        return known.has(name) && now - (triedAt.get(id) ?? Number.NEGATIVE_INFINITY) > AGAIN_MS
      })
      await forEachRow(due, { log, signal, nameOf: ({ name }) => name }, async (host) => {
        triedAt.set(host.id, now)
        if (hosts.silentMs(host.id) > downAfterMs)
          await fence(cell, host, known.get(host.name)!, signal)
      })
      return { due: due.length, held: plan.held.length }
    },
  }
}

async function fence(
  cell: Cell,
  host: FenceableHost,
  device: FenceDeviceSettings,
  signal: AbortSignal,
): Promise<void> {
  const { log } = cell.conductor
  log.warn({ host: host.name, silent_ms: host.silentMs }, 'host does not answer: it is fenced')
  try {
    await powerOff(device, AbortSignal.any([signal, AbortSignal.timeout(SWITCH_LIMIT_MS)]))
  } catch (error) {
    signal.throwIfAborted()
    log.error({ host: host.name, ...errorFields(error) }, 'host not fenced')
    const why = isFailure(error) ? error.message : String(error)
    return showProblem(cell, host, `It could not be fenced by ${deviceName(device)}: ${why}`)
  }
  await declareFenced(cell, host, () => true)
  log.warn({ host: host.name }, 'host fenced: it is powered off')
}

/** Has a host without a device stop its guests by itself, and declares it down once it has. */
async function leaveAlone(cell: Cell, host: FenceableHost, fencing: SelfFencing): Promise<void> {
  const { log } = cell.conductor
  const step = fencing.step(host.id)
  if (step === 'wait') return
  if (step === 'leave-alone') {
    log.warn(
      { host: host.name, silent_ms: host.silentMs },
      'host does not answer: it is left alone',
    )
    const change = { isLeftAlone: true, fenceProblem: STOPS_ITSELF } as const
    await changeHost(cell.conductor, host.id, (seen) => ({ ...seen, ...change }))
    return
  }
  // A process that has heard it since has told it of contact.
  await declareFenced(cell, host, ({ isLeftAlone }) => isLeftAlone)
  log.warn({ host: host.name }, 'host fenced: it has stopped its guests by itself')
}

/** Afterwards the host is down for good, if it is still as it was seen. */
async function declareFenced(
  cell: Cell,
  { id }: FenceableHost,
  isFenced: (seen: Host) => boolean,
): Promise<void> {
  const { hosts, clock } = cell.conductor
  await changeHost(cell.conductor, id, (seen) => {
    // A compute that has started since is on a machine that was switched on again.
    const isSame = seen.startedAt === hosts.get(id)?.startedAt
    if (seen.isForcedDown || !isSame || !isFenced(seen)) return seen
    const shown = { isUp: false, isForcedDown: true, fenceProblem: null }
    return { ...seen, ...shown, fencedAt: clock.now() }
  })
  await hosts.refresh()
  notifySiblings(cell.conductor)
}

/** Afterwards the machine is off, as the device said last. Throws `unavailable` where the device does not answer, or the machine stays on. */
async function powerOff(settings: FenceDeviceSettings, signal: AbortSignal): Promise<void> {
  await using device = openDevice(settings)
  await device.off(signal)
}

/** Afterwards gateways show why the host was not fenced. */
async function showProblem(
  { conductor }: Cell,
  { id }: FenceableHost,
  problem: string,
): Promise<void> {
  try {
    await changeHost(conductor, id, (seen) =>
      seen.fenceProblem === problem ? seen : { ...seen, fenceProblem: problem },
    )
  } catch (error) {
    if (!isFailure(error, 'conflict', 'not-found')) throw error
  }
}
