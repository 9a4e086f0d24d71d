import { notSwitched, type Power, waitForPower } from '../machine-power.ts'
import type { Bmc } from './bmc.ts'
import { controlPower, isPoweredOn } from './chassis.ts'

/** A BMC answers when it has begun; machines take seconds. */
const SWITCH_MS = 60_000

/** A machine that its BMC switches. Methods throw `unavailable` when the BMC is silent, or the machine stays as it is. */
export function ipmiPower(bmc: Bmc): Power {
  const isOn = (signal: AbortSignal) => isPoweredOn(bmc, signal)
  const turn = async (wanted: boolean, signal: AbortSignal) => {
    if ((await isOn(signal)) === wanted) return
    await controlPower(bmc, wanted ? 'on' : 'off', signal)
    if (!(await waitForPower({ isOn }, wanted, SWITCH_MS, signal))) throw notSwitched(wanted)
  }
  return {
    isOn,
    on: (signal) => turn(true, signal),
    off: (signal) => turn(false, signal),
    askToShutDown: (signal) => controlPower(bmc, 'shutDown', signal),
    reset: async (signal) => {
      // A machine that is off cannot be reset.
      await ((await isOn(signal)) ? controlPower(bmc, 'reset', signal) : turn(true, signal))
    },
  }
}
