import { type ObserveS3, S3Client } from '../../../s3/s3-client.ts'
import type { S3Settings } from '../../../s3/s3-settings.ts'
import type { ContentStore } from './content-store.ts'
import { DirectoryStore } from './directory-store.ts'
import { MovingStore } from './moving-store.ts'
import { S3Store, s3Sizes } from './s3-store.ts'

export interface StoreSettings {
  /** Where there is an S3, contents that are still here are moved there; empty: there are none. */
  readonly imageDirectory: string
  readonly imageS3: S3Settings | undefined
  readonly imageSizeMaxBytes: number
}

/** Where the gateways keep the contents of images. An S3 need not answer yet. */
export async function openStore(
  { imageDirectory, imageS3, imageSizeMaxBytes }: StoreSettings,
  observe?: ObserveS3,
): Promise<ContentStore> {
  if (imageS3 === undefined) return DirectoryStore.open(imageDirectory)
  const client = new S3Client(imageS3, observe && { observe })
  const s3 = new S3Store(client, s3Sizes(imageSizeMaxBytes))
  if (imageDirectory === '') return s3
  return new MovingStore(await DirectoryStore.open(imageDirectory), s3)
}
