import type { ImageFile } from './driver.ts'

/** The images that the host has already, for new guests. */
export interface ImageCopies {
  /** Undefined where the next boot would have to fetch the image. */
  find(image: Pick<ImageFile, 'id' | 'sha256'>, signal: AbortSignal): Promise<ImageCopy | undefined>
  /** Afterwards the next boot need not fetch the image, unless others make the host give it up. Absent: boots alone fetch. */
  fetch?(image: ImageFile, signal: AbortSignal): Promise<void>
}

export interface ImageCopy {
  /** The backend's name for the copy; null for a file of the host. */
  readonly name: string | null
  readonly sizeBytes: number
}
