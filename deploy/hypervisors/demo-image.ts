import { createReadStream } from 'node:fs'
import type { DriverName } from '#drivers/driver.ts'
import type { DemoImage } from '../catalog/ensure-image.ts'
import { simulatedImage } from '../catalog/simulated-image.ts'
import { buildGuestImage } from '../guest/build-guest-image.ts'
import { guestDirectory } from '../paths.ts'

const GUEST_MEMORY_MB = 96

/** The image `tiny` for hosts of this driver: a Linux that boots, or a mark that nothing does. */
export async function demoImage(driver: DriverName): Promise<DemoImage> {
  if (driver === 'fake') return simulatedImage
  const { path } = await buildGuestImage(guestDirectory)
  return {
    name: 'tiny',
    diskFormat: 'qcow2',
    minDiskGb: 1,
    minRamMb: GUEST_MEMORY_MB,
    properties: { hw_architecture: 'x86_64' },
    content: () => createReadStream(path),
  }
}
