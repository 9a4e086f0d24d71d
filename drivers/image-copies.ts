import type { ImageFile } from './driver.ts'

/** Reports the images that the host has already, for new guests. */
export interface ImageCopies {
  /** Undefined where the next boot would have to fetch the image. */
  find(image: Pick<ImageFile, 'id' | 'sha256'>, signal: AbortSignal): Promise<ImageCopy | undefined>
}

export interface ImageCopy {
  /** The backend's name for the copy; null for a file of the host. */
  readonly name: string | null
  readonly sizeBytes: number
}
