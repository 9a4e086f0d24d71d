import type { SensorReading } from '../../nodes.ts'

export type BootsFrom = 'network-once' | 'network' | 'disk'

/** What decides where a machine boots from, and knows how it is. */
export interface Management {
  /** Afterwards the machine boots from the network once, or from the network or its first disk from now on. */
  bootFrom(where: BootsFrom, signal: AbortSignal): Promise<void>
  sensors(signal: AbortSignal): Promise<readonly SensorReading[]>
}

/** For machines whose boot order people set: the network first, which sends them on when there is nothing to do. */
export const noopManagement: Management = {
  bootFrom: async () => undefined,
  sensors: async () => [],
}
