import { isFailure } from '#common/errors.ts'
import type { HostId } from '#common/ids.ts'
import { errorFields } from '#common/log.ts'
import type { Reconciler } from '#common/reconciler.ts'
import { HeldLease } from '#common/saga/lease.ts'
import type { Cell } from '../cell.ts'
import { deviceName, type FenceDeviceSettings, openDevice } from '../fencing/fence-device.ts'
import { type FencingSettings, WatchedFenceDevices } from '../fencing/fence-devices.ts'
import { changeHost } from '../hosts/change-host.ts'
import type { Host, TriedFenceDevice } from '../hosts/host.ts'

const EVERY_MS = 2_000
const LEASE = { name: 'fence-devices', ttlMs: 10_000 } as const
/** A device that works is tried again after so long, and one that does not sooner: somebody may be repairing it. */
const AGAIN_MS = { works: 300_000, fails: 30_000 } as const
/** Programs of agents that run at a time. */
const AT_ONCE = 4
const TRY_LIMIT_MS = 120_000
/** Longer than hosts take from one report to the next. */
const REPORT_MS = 3_000

const OF_OTHER =
  'It says that the machine is off, though the host answers: it is the device of another machine, and fences nothing. Correct it in CELL_FENCE_DEVICES_FILE.'
const ADVICE = 'Check its address, user and password in CELL_FENCE_DEVICES_FILE.'

interface Tried {
  readonly at: number
  readonly settings: FenceDeviceSettings
  readonly doesWork: boolean
}

/**
 * Asks the fence devices of hosts that answer whether the machine is on, so that operators learn what is wrong with a
 * device before a host fails. One process of the cell does so.
 */
export function tryFenceDevices(cell: Cell, holder: string, fencing: FencingSettings): Reconciler {
  const { db, hosts, clock, log } = cell.conductor
  const lease = new HeldLease(db, clock, { ...LEASE, holder })
  const devices = new WatchedFenceDevices(fencing)
  const tried = new Map<HostId, Tried>()
  let shownProblem: string | null = null
  return {
    name: 'try-fence-devices',
    everyMs: EVERY_MS,
    round: async (signal) => {
      if ((await lease.hold()) === undefined) return {}
      const known = devices.read()
      const { problem } = devices
      if (problem !== null && problem !== shownProblem)
        log.error({ problem }, 'fence devices cannot be read: those of before are used')
      shownProblem = problem
      const now = clock.elapsed()
      const isDue = ({ id, name }: Host) => {
        const last = tried.get(id)
        if (last === undefined || last.settings !== known.get(name)) return true
        return now - last.at >= (last.doesWork ? AGAIN_MS.works : AGAIN_MS.fails)
      }
      const all = hosts.all()
      for (const host of all.filter(({ name }) => !known.has(name))) await show(cell, host, null)
      const due = all.filter((host) => known.has(host.name) && isDue(host)).slice(0, AT_ONCE)
      await Promise.all(
        due.map(async (host) => {
          const settings = known.get(host.name)!
          const result = hosts.isUp(host)
            ? await tryDevice(cell, host, settings, signal)
            : untried(host, settings, tried.get(host.id))
          tried.set(host.id, { at: now, settings, doesWork: result.problem === null })
          await show(cell, host, result)
        }),
      )
      return { tried: due.length }
    },
  }
}

/** Of a host that does not answer: what was found before, unless somebody has changed the device since. */
function untried(
  { fenceDevice }: Host,
  settings: FenceDeviceSettings,
  last: Tried | undefined,
): TriedFenceDevice {
  const name = deviceName(settings)
  const isSameDevice = last === undefined || last.settings === settings
  if (isSameDevice && fenceDevice?.name === name) return fenceDevice
  return { name, problem: null, isOfOther: false }
}

async function tryDevice(
  { conductor: { hosts, clock, log } }: Cell,
  host: Host,
  settings: FenceDeviceSettings,
  signal: AbortSignal,
): Promise<TriedFenceDevice> {
  const name = deviceName(settings)
  const limit = AbortSignal.any([signal, AbortSignal.timeout(TRY_LIMIT_MS)])
  try {
    await using device = openDevice(settings)
    const problem = await device.problem(limit)
    if (problem !== null) return { name, problem, isOfOther: false }
    if (device.isOn === undefined || (await device.isOn(limit)))
      return { name, problem: null, isOfOther: false }
    // The host may have lost its power just now.
    await clock.sleep(REPORT_MS, signal)
    const isOfOther = hosts.silentMs(host.id) < REPORT_MS && !(await device.isOn(limit))
    return { name, problem: isOfOther ? OF_OTHER : null, isOfOther }
  } catch (error) {
    signal.throwIfAborted()
    log.warn({ host: host.name, ...errorFields(error) }, 'fence device cannot be used')
    const why = isFailure(error) ? error.message : String(error)
    return { name, problem: `${why} ${ADVICE}`, isOfOther: false }
  }
}

/** Afterwards gateways show it. */
async function show(
  { conductor }: Cell,
  { id, fenceDevice: shown }: Host,
  fenceDevice: TriedFenceDevice | null,
): Promise<void> {
  if (isSame(shown, fenceDevice)) return
  try {
    await changeHost(conductor, id, (seen) =>
      isSame(seen.fenceDevice, fenceDevice) ? seen : { ...seen, fenceDevice },
    )
  } catch (error) {
    if (!isFailure(error, 'conflict', 'not-found')) throw error
  }
}

function isSame(one: TriedFenceDevice | null, other: TriedFenceDevice | null): boolean {
  return (
    one?.name === other?.name &&
    one?.problem === other?.problem &&
    one?.isOfOther === other?.isOfOther
  )
}
