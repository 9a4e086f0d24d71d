import type { Bmc } from './bmc.ts'
import { COMPLETIONS, isRefusal } from './bmc-failure.ts'
import { NET_FUNCTIONS } from './message.ts'

/** IPMI 2.0, 28.2, 28.3 and 28.12. */
const CHASSIS_STATUS = 0x01
const CHASSIS_CONTROL = 0x02
const SET_BOOT_OPTIONS = 0x08
const IS_ON = 0x01

const POWER_ACTIONS = {
  off: 0,
  on: 1,
  cycle: 2,
  reset: 3,
  interrupt: 4,
  shutDown: 5,
} as const
export type PowerAction = keyof typeof POWER_ACTIONS

/** IPMI 2.0, table 28-14. */
const BOOT_DEVICES = { default: 0x00, network: 0x04, disk: 0x08, cdrom: 0x14, setup: 0x18 } as const
export type BootDevice = keyof typeof BOOT_DEVICES

const BOOT_FLAGS = 5
const BOOT_FLAG_CLEARING = 3
/** The flags do not lapse when the machine is not restarted within a minute. */
const KEEP_FLAGS = 0x08
const FLAGS_ARE_VALID = 0x80
const FOR_EVERY_BOOT = 0x40
const WITH_EFI = 0x20

export interface BootOptions {
  readonly device: BootDevice
  /** False: for the next boot only. */
  readonly isPersistent: boolean
  readonly usesEfi: boolean
}

export async function isPoweredOn(bmc: Bmc, signal: AbortSignal): Promise<boolean> {
  const command = { netFunction: NET_FUNCTIONS.chassis, code: CHASSIS_STATUS }
  return ((await bmc.command(command, signal)).readUInt8() & IS_ON) !== 0
}

/** The BMC has begun; how far it is shows in `isPoweredOn`. */
export async function controlPower(
  bmc: Bmc,
  action: PowerAction,
  signal: AbortSignal,
): Promise<void> {
  const data = Buffer.from([POWER_ACTIONS[action]])
  await bmc.command({ netFunction: NET_FUNCTIONS.chassis, code: CHASSIS_CONTROL, data }, signal)
}

/** Afterwards the machine boots from this device, the next time it does. */
export async function setBootOptions(
  bmc: Bmc,
  { device, isPersistent, usesEfi }: BootOptions,
  signal: AbortSignal,
): Promise<void> {
  await setOption(bmc, [BOOT_FLAG_CLEARING, KEEP_FLAGS], signal).catch((error: unknown) => {
    // Not every BMC has a say in it.
    if (!isRefusal(error, COMPLETIONS.unknownOption, COMPLETIONS.invalidField)) throw error
  })
  const flags = FLAGS_ARE_VALID | (isPersistent ? FOR_EVERY_BOOT : 0) | (usesEfi ? WITH_EFI : 0)
  await setOption(bmc, [BOOT_FLAGS, flags, BOOT_DEVICES[device], 0, 0, 0], signal)
}

async function setOption(bmc: Bmc, option: readonly number[], signal: AbortSignal): Promise<void> {
  const data = Buffer.from(option)
  await bmc.command({ netFunction: NET_FUNCTIONS.chassis, code: SET_BOOT_OPTIONS, data }, signal)
}
