import { createReadStream } from 'node:fs'
import type { DriverName } from '#drivers/driver.ts'
import { type DemoImage, simulatedImage } from '../catalog/ensure-image.ts'
import { buildGuestImage } from '../guest/build-guest-image.ts'
import { guestFiles } from '../guest/guest-files.ts'
import { guestDirectory } from '../paths.ts'

/** The name of the demo image, of any driver. */
export const DEMO_IMAGE = 'tiny'

const GUEST_MEMORY_MB = 96

/** The image `tiny` for hosts of this driver: a Linux that boots, the files of a container, or a mark that nothing boots. */
export async function demoImage(driver: DriverName): Promise<DemoImage> {
  if (driver === 'fake') return simulatedImage
  if (driver === 'docker') return containerImage()
  const { path } = await buildGuestImage(guestDirectory)
  return {
    name: DEMO_IMAGE,
    diskFormat: 'qcow2',
    containerFormat: 'bare',
    minDiskGb: 1,
    minRamMb: GUEST_MEMORY_MB,
    properties: { hw_architecture: 'x86_64' },
    content: () => createReadStream(path),
  }
}

async function containerImage(): Promise<DemoImage> {
  const files = await guestFiles()
  return {
    name: DEMO_IMAGE,
    diskFormat: 'raw',
    containerFormat: 'docker',
    minDiskGb: 0,
    minRamMb: 0,
    properties: {},
    content: () => files,
  }
}
