import type { InstanceSpec } from '../../driver.ts'
import type { LibvirtHost } from '../host.ts'
import { stop } from '../power.ts'
import { spawn } from '../spawn.ts'
import { takeOver } from './take-over.ts'

/** Afterwards the instance is here, with the disks its host left where this one sees them, else made again from its image. */
export async function evacuate(
  host: LibvirtHost,
  spec: InstanceSpec,
  runs: boolean,
  signal: AbortSignal,
): Promise<void> {
  const isTaken = await host.locks.runPreemptible(spec.id, signal, (lockSignal) =>
    takeOver(host, spec, runs, lockSignal),
  )
  if (isTaken) return
  await spawn(host, spec, signal)
  if (!runs) await stop(host, spec.id, 0, signal)
}
