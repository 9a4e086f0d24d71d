import type { InstanceSpec } from '../../driver.ts'
import type { LibvirtHost } from '../host.ts'
import { stop } from '../power.ts'
import { spawn } from '../spawn.ts'

/** Afterwards the instance is here, made anew from its image. */
export async function evacuate(
  host: LibvirtHost,
  spec: InstanceSpec,
  runs: boolean,
  signal: AbortSignal,
): Promise<void> {
  await spawn(host, spec, signal)
  if (!runs) await stop(host, spec.id, 0, signal)
}
