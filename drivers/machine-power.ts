import { setTimeout as sleep } from 'node:timers/promises'
import { Failure } from '#common/errors.ts'

/** What switches a machine. */
export interface Power {
  isOn(signal: AbortSignal): Promise<boolean>
  /** Afterwards the machine is on. */
  on(signal: AbortSignal): Promise<void>
  /** Afterwards the machine is off, from any state. */
  off(signal: AbortSignal): Promise<void>
  /** Afterwards the machine has been asked to shut down, which it may take its time for, or not do at all. */
  askToShutDown(signal: AbortSignal): Promise<void>
  /** Afterwards the machine has started again. */
  reset(signal: AbortSignal): Promise<void>
}

const ASK_EVERY_MS = 250

/** Waits until the machine is on, or off; false when it is not within `limitMs`. */
export async function waitForPower(
  power: Pick<Power, 'isOn'>,
  wanted: boolean,
  limitMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const deadline = performance.now() + limitMs
  while ((await power.isOn(signal)) !== wanted) {
    if (performance.now() >= deadline) return false
    await sleep(ASK_EVERY_MS, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
  return true
}

/** Afterwards the machine is off: asked to shut down first, cut off after `graceMs` (0: at once). */
export async function powerDown(power: Power, graceMs: number, signal: AbortSignal): Promise<void> {
  if (!(await power.isOn(signal))) return
  if (graceMs > 0) {
    await power.askToShutDown(signal)
    if (await waitForPower(power, false, graceMs, signal)) return
  }
  await power.off(signal)
}

export function notSwitched(wanted: boolean): Failure {
  return new Failure('unavailable', `The machine does not go ${wanted ? 'on' : 'off'}.`)
}
