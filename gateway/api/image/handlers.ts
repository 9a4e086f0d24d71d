import type { operations } from '#openapi/image.gen.ts'
import type { HandlerTable } from '../../http/operation.ts'
import { downloadImage } from './data/download-image.ts'
import { downloadImageWithTicket } from './data/download-image-with-ticket.ts'
import { uploadImage } from './data/upload-image.ts'
import { uploadImageWithTicket } from './data/upload-image-with-ticket.ts'
import { createImage } from './images/create-image.ts'
import { deactivateImage } from './images/deactivate-image.ts'
import { deleteImage } from './images/delete-image.ts'
import { listImages } from './images/list-images.ts'
import { reactivateImage } from './images/reactivate-image.ts'
import { showImage } from './images/show-image.ts'
import { updateImage } from './images/update-image.ts'
import { importImage } from './imports/import-image.ts'
import { showImageUsage } from './imports/show-image-usage.ts'
import { showImportInfo } from './imports/show-import-info.ts'
import { showStoresInfo } from './imports/show-stores-info.ts'
import { stageImage } from './imports/stage-image.ts'
import { addImageMember } from './members/add-image-member.ts'
import { listImageMembers } from './members/list-image-members.ts'
import { removeImageMember } from './members/remove-image-member.ts'
import { showImageMember } from './members/show-image-member.ts'
import { updateImageMember } from './members/update-image-member.ts'
import { metadefNamespaceHandlers } from './metadefs/namespace-handlers.ts'
import { metadefPartHandlers } from './metadefs/part-handlers.ts'
import { showSchema } from './schemas/show-schema.ts'
import { addImageTag } from './tags/add-image-tag.ts'
import { deleteImageTag } from './tags/delete-image-tag.ts'
import { listTasks } from './tasks/list-tasks.ts'
import { listTasksOfImage } from './tasks/list-tasks-of-image.ts'
import { showTask } from './tasks/show-task.ts'
import { listVersions } from './versions/list-versions.ts'
import { listVersionsPlainly } from './versions/list-versions-plainly.ts'
import { showVersion } from './versions/show-version.ts'

/** A handler for every operation of openapi/image.yaml. */
export const imageHandlers: HandlerTable<operations> = {
  ...metadefNamespaceHandlers,
  ...metadefPartHandlers,
  addImageMember,
  addImageTag,
  createImage,
  deactivateImage,
  deleteImage,
  deleteImageTag,
  downloadImage,
  downloadImageWithTicket,
  importImage,
  listImageMembers,
  listImages,
  listTasks,
  listTasksOfImage,
  listVersions,
  listVersionsPlainly,
  reactivateImage,
  removeImageMember,
  showImage,
  showImageMember,
  showImageUsage,
  showImportInfo,
  showSchema,
  showStoresInfo,
  showTask,
  showVersion,
  stageImage,
  updateImage,
  updateImageMember,
  uploadImage,
  uploadImageWithTicket,
}
