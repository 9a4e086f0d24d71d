import { addServerTag } from './add-server-tag.ts'
import { checkServerTag } from './check-server-tag.ts'
import { deleteServerTag } from './delete-server-tag.ts'
import { deleteServerTags } from './delete-server-tags.ts'
import { listServerTags } from './list-server-tags.ts'
import { replaceServerTags } from './replace-server-tags.ts'

export const serverTagHandlers = {
  listServerTags,
  replaceServerTags,
  deleteServerTags,
  checkServerTag,
  addServerTag,
  deleteServerTag,
}
