import { createServerGroup } from './create-server-group.ts'
import { deleteServerGroup } from './delete-server-group.ts'
import { listServerGroups } from './list-server-groups.ts'
import { showServerGroup } from './show-server-group.ts'

export const serverGroupHandlers = {
  createServerGroup,
  deleteServerGroup,
  listServerGroups,
  showServerGroup,
}
