import type { Power } from '../../machine-power.ts'

/**
 * A machine that people switch on request. Its power state is taken to be the one last requested; `isOn`: the state
 * before the first request.
 */
export function noopPower(isOn: boolean): Power {
  let asked = isOn
  const turn = async (wanted: boolean, signal: AbortSignal) => {
    signal.throwIfAborted()
    asked = wanted
  }
  return {
    isOn: async (signal) => {
      signal.throwIfAborted()
      return asked
    },
    on: (signal) => turn(true, signal),
    off: (signal) => turn(false, signal),
    askToShutDown: (signal) => turn(false, signal),
    reset: (signal) => turn(true, signal),
  }
}
