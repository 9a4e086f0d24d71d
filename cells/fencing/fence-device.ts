import { FenceAgent, type FenceAgentSettings } from '#drivers/fence-agents/fence-agent.ts'
import { Pacemaker, type PacemakerSettings } from '#drivers/fence-agents/pacemaker.ts'
import { Bmc } from '#drivers/ipmi/bmc.ts'
import type { BmcSettings } from '#drivers/ipmi/bmc-settings.ts'
import { ipmiPower } from '#drivers/ipmi/ipmi-power.ts'
import type { Power } from '#drivers/machine-power.ts'

/** By what a host is fenced. */
export type FenceDeviceSettings =
  | { readonly bmc: BmcSettings }
  | { readonly agent: FenceAgentSettings }
  | { readonly pacemaker: PacemakerSettings }

/** Powers one machine off, and says whether it is. Methods throw `unavailable` where it cannot be reached, or the machine stays on. */
export interface FenceDevice extends Pick<Power, 'off'>, AsyncDisposable {
  /** Absent from a device that cannot say. */
  readonly isOn?: Power['isOn']
  /** Why it cannot work as it is set; null: nothing is known to be wrong. */
  problem(signal: AbortSignal): Promise<string | null>
}

/** What operators call the device. */
export function deviceName(settings: FenceDeviceSettings): string {
  if ('bmc' in settings) return `BMC ${settings.bmc.address}`
  return 'agent' in settings ? settings.agent.name : 'Pacemaker'
}

export function openDevice(settings: FenceDeviceSettings): FenceDevice {
  const nothingOpen = { [Symbol.asyncDispose]: async () => {} }
  if ('agent' in settings) return Object.assign(new FenceAgent(settings.agent), nothingOpen)
  if ('pacemaker' in settings) return Object.assign(new Pacemaker(settings.pacemaker), nothingOpen)
  const bmc = new Bmc(settings.bmc)
  return {
    ...ipmiPower(bmc),
    problem: async () => null,
    [Symbol.asyncDispose]: () => bmc[Symbol.asyncDispose](),
  }
}
