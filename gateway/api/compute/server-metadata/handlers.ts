import { deleteServerMetadataItem } from './delete-server-metadata-item.ts'
import { listServerMetadata } from './list-server-metadata.ts'
import { replaceServerMetadata } from './replace-server-metadata.ts'
import { showServerMetadataItem } from './show-server-metadata-item.ts'
import { updateServerMetadata } from './update-server-metadata.ts'
import { updateServerMetadataItem } from './update-server-metadata-item.ts'

export const serverMetadataHandlers = {
  listServerMetadata,
  updateServerMetadata,
  replaceServerMetadata,
  showServerMetadataItem,
  updateServerMetadataItem,
  deleteServerMetadataItem,
}
