import { Failure } from '#common/errors.ts'
import type { BaremetalHost } from '../host.ts'
import type { Machine } from '../netboot/run-in-ramdisk.ts'
import type { Node } from './node.ts'

/** What of a node works in the ramdisk. */
export function machineOf({ power, management, enrolled: { macAddress } }: Node): Machine {
  return { power, management, macAddress }
}

/** A signal that also ends work in the ramdisk that takes too long, as `unavailable`. */
export function withinTask({ taskMs }: BaremetalHost, signal: AbortSignal): AbortSignal {
  const expired = new AbortController()
  const silent = new Failure('unavailable', 'The machine did not say that it was done.')
  setTimeout(() => expired.abort(silent), taskMs).unref()
  return AbortSignal.any([signal, expired.signal])
}
