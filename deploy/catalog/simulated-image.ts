import type { DemoImage } from './ensure-image.ts'

const CONTENT_BYTES = 64 * 1024

/** For simulated hosts: its property keeps it from real hosts, as theirs keep real images from simulated ones. */
export const simulatedImage: DemoImage = {
  name: 'tiny',
  diskFormat: 'raw',
  containerFormat: 'bare',
  minDiskGb: 0,
  minRamMb: 0,
  properties: { img_hv_type: 'fake', hypervisor_type: 'fake' },
  content: () => new Uint8Array(CONTENT_BYTES),
}
