import type { DriverName } from '#drivers/driver.ts'

/** The drivers whose backends the launcher can start itself: another cloud is somebody else's. */
export const LAUNCHED_DRIVERS = [
  'baremetal',
  'docker',
  'fake',
  'libvirt',
] as const satisfies readonly DriverName[]
export type LaunchedDriver = (typeof LAUNCHED_DRIVERS)[number]
