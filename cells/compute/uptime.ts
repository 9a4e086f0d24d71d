import type { Compute } from './compute.ts'
import { driverPart } from './driver-part.ts'

const TIMEOUT_MS = 5_000

/** How long this machine has been up, in its own words. */
export async function uptime({ driver }: Compute): Promise<{ text: string }> {
  const text = await driverPart(driver, 'uptime').read(AbortSignal.timeout(TIMEOUT_MS))
  return { text: text.trimEnd() }
}
