import { deleteImage } from './delete-image.ts'
import { deleteImageMetadataItem } from './delete-image-metadata-item.ts'
import { listImageMetadata } from './list-image-metadata.ts'
import { listImages } from './list-images.ts'
import { listImagesDetail } from './list-images-detail.ts'
import { replaceImageMetadata } from './replace-image-metadata.ts'
import { showImage } from './show-image.ts'
import { showImageMetadataItem } from './show-image-metadata-item.ts'
import { updateImageMetadata } from './update-image-metadata.ts'
import { updateImageMetadataItem } from './update-image-metadata-item.ts'

/** The proxies for images, which clients from before microversion 2.36 still call. */
export const imageHandlers = {
  deleteImage,
  deleteImageMetadataItem,
  listImageMetadata,
  listImages,
  listImagesDetail,
  replaceImageMetadata,
  showImage,
  showImageMetadataItem,
  updateImageMetadata,
  updateImageMetadataItem,
}
