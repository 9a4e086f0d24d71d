import { callApi, type Session, uploadBytes } from '../api/session.ts'

/** A demo image: the request for the image service, and the content. */
export interface DemoImage {
  readonly name: string
  readonly diskFormat: string
  /** `bare` for a disk. */
  readonly containerFormat: string
  readonly minDiskGb: number
  readonly minRamMb: number
  readonly properties: Readonly<Record<string, string>>
  readonly content: () => Uint8Array | NodeJS.ReadableStream
}

interface ImageAnswer {
  readonly id: string
  readonly status: string
}

/** Afterwards a public, active image of this name exists. */
export async function ensureImage(admin: Session, image: DemoImage): Promise<void> {
  const path = '/image/v2/images'
  const { images } = await callApi<{ images: readonly ImageAnswer[] }>(admin, {
    method: 'GET',
    path: `${path}?name=${encodeURIComponent(image.name)}`,
  })
  if (images.some(({ status }) => status === 'active')) return
  const { id } =
    images.find(({ status }) => status === 'queued') ??
    (await callApi<ImageAnswer>(admin, {
      method: 'POST',
      path,
      body: {
        name: image.name,
        disk_format: image.diskFormat,
        container_format: image.containerFormat,
        visibility: 'public',
        min_disk: image.minDiskGb,
        min_ram: image.minRamMb,
        ...image.properties,
      },
    }))
  await uploadBytes(admin, `${path}/${id}/file`, image.content())
}

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
