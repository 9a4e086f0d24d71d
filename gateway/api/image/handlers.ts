import type { Handlers } from '../../http/operation.ts'
import { downloadImage } from './data/download-image.ts'
import { downloadImageWithTicket } from './data/download-image-with-ticket.ts'
import { uploadImage } from './data/upload-image.ts'
import { createImage } from './images/create-image.ts'
import { deactivateImage } from './images/deactivate-image.ts'
import { deleteImage } from './images/delete-image.ts'
import { listImages } from './images/list-images.ts'
import { reactivateImage } from './images/reactivate-image.ts'
import { showImage } from './images/show-image.ts'
import { updateImage } from './images/update-image.ts'
import { listImageMembers } from './members/list-image-members.ts'
import { showImageSchema } from './schemas/show-image-schema.ts'
import { showImagesSchema } from './schemas/show-images-schema.ts'
import { addImageTag } from './tags/add-image-tag.ts'
import { deleteImageTag } from './tags/delete-image-tag.ts'
import { listVersions } from './versions/list-versions.ts'
import { listVersionsPlainly } from './versions/list-versions-plainly.ts'
import { showVersion } from './versions/show-version.ts'

/** A handler for every operation of openapi/image.yaml. */
export const imageHandlers: Handlers = {
  addImageTag,
  createImage,
  deactivateImage,
  deleteImage,
  deleteImageTag,
  downloadImage,
  downloadImageWithTicket,
  listImageMembers,
  listImages,
  listVersions,
  listVersionsPlainly,
  reactivateImage,
  showImage,
  showImageSchema,
  showImagesSchema,
  showVersion,
  updateImage,
  uploadImage,
}
