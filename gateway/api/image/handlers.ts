import type { operations } from '#openapi/image.gen.ts'
import type { HandlerTable } from '../../http/operation.ts'
import {
  downloadImage,
  downloadImageWithTicket,
  keepImageWithTicket,
  showKeptImage,
  uploadImage,
  uploadImageWithTicket,
} from './data.ts'
import {
  createImage,
  deactivateImage,
  deleteImage,
  listImages,
  reactivateImage,
  showImage,
  updateImage,
} from './images.ts'
import {
  importImage,
  showImageUsage,
  showImportInfo,
  showStoresInfo,
  stageImage,
} from './imports.ts'
import {
  addImageMember,
  listImageMembers,
  removeImageMember,
  showImageMember,
  updateImageMember,
} from './members.ts'
import { metadefNamespaceHandlers, metadefPartHandlers } from './metadefs.ts'
import { showSchema } from './schemas.ts'
import { addImageTag, deleteImageTag } from './tags.ts'
import { listTasks, listTasksOfImage, showTask } from './tasks.ts'
import { listVersions, listVersionsPlainly, showVersion } from './versions.ts'

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
  keepImageWithTicket,
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
  showKeptImage,
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
